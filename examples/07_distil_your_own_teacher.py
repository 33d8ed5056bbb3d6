"""Distil a teacher of your own into a student; the commands are those of the shell.

Two iterations of the smoke profile, to see that it runs; give another profile to learn
something. Any run or checkpoint of stage 1 will do as a teacher, e.g. of
03_train_with_own_rewards.py; `shipped-teacher` comes with the package.

    python examples/07_distil_your_own_teacher.py [PROFILE [TEACHER]]
"""

import sys

from solo.cli.main import main as solo


def main(profile: str = "smoke", teacher: str = "") -> None:
    size = f"--profile {profile} --output"
    commands = [f"train student {size} runs/student --teacher {teacher or 'runs/own'}"]
    if not teacher:
        commands.insert(0, f"train teacher {size} runs/own")
    for command in commands:
        print(f"$ solo {command}", flush=True)
        assert solo(command.split()) == 0
    print("Next: solo train perceptive --student runs/student, then solo export.")


if __name__ == "__main__":
    main(*sys.argv[1:])
