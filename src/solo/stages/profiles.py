"""How large a training is: the paper's size, a laptop's, or that of a test.

A profile is data. Whatever it changes from the paper is in `differences`, which runs
print at the start and store.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from solo.errors import unknown_name
from solo.networks.ame import AmeCfg


@dataclass(frozen=True)
class EaseInCfg:
    """What becomes harder over the first part of a training.

    Not in the paper. With a laptop's number of samples a robot that is pushed and told
    to walk backwards from the first step on learns to stand; see
    ``docs/training-notes.md``.
    """

    env_steps: float = 40.0e6
    """Samples after which all but the assistance and ``stride_weight`` is as in the
    paper."""
    assist: bool = True
    """Whether a torque holds the teacher upright at first; it fades with the falls."""
    reference_start: float = 0.8
    """Share of the episodes that begin in a reference motion; at the end half of it."""
    swing_weight: float = 4.0
    """Weight of lifted feet at the start."""
    swing_env_steps: float = 8.0e6
    """Samples after which it is 0. It makes robots step; later it makes them step on
    the spot."""
    stride_weight: float = 2.0
    """Weight of feet that are lifted on the way, which comes as the other one goes.

    It stays. Without it robots lift their feet less and less, stop in front of what
    they do not step over, and earn no less for it: a command of 0.4 m/s that is not
    followed costs half of what tracking earns.
    """
    foothold_weight: float = 0.0
    """Weight of feet across an edge at the start; the paper's -5 at the end.

    A beginner has an edge under its foot in two of five steps on stairs and pays for it
    what tracking its command earns: it learns to stay where it is.
    """
    lin_vel_x: tuple[float, float] = (0.4, 0.8)
    """Forward command at the start, m/s."""
    lin_vel_y: tuple[float, float] = (0.0, 0.0)
    """Sideways command at the start, m/s."""
    ang_vel_z: tuple[float, float] = (-0.3, 0.3)
    """Turning command at the start, rad/s.

    It bounds how fast robots turn to their heading. All have a heading from the start:
    who turns at a constant rate for 20 s walks in circles, and would be sent to easier
    terrain however well it walks.
    """


@dataclass(frozen=True)
class Profile:
    """Sizes of a training; the defaults are the paper's."""

    name: str = "paper"
    """Key in `PROFILES`."""
    num_envs: tuple[int, int, int] = (4096, 4096, 2048)
    """Environments per GPU of teacher, student and perceptive stage."""
    iterations: tuple[int, int, int] = (50_000, 20_000, 5_000)
    """Iterations of the three stages."""
    epochs: int = 5
    """Passes over the samples of an iteration."""
    mini_batches: int = 4
    """Mini-batches per pass."""
    ame: AmeCfg = field(default_factory=AmeCfg)
    """Map encoder of teacher, student and critic."""
    teacher_head: tuple[int, ...] = (256, 256, 128)
    """Hidden layers of the teacher."""
    student_head: tuple[int, ...] = (512, 256, 128)
    """Hidden layers of the student."""
    critic_head: tuple[int, ...] = (512, 256, 128)
    """Hidden layers of the critic; not stated in the paper."""
    critic_model: str = "solo.networks.ame_model:AmeModel"
    """Class of the critic; `FlatMapModel` is the cheap one."""
    discriminator: tuple[int, ...] = (1024, 512)
    """Hidden layers of the motion discriminator."""
    discriminator_updates: int | None = None
    """Steps of the discriminator per iteration; None: as many as PPO's."""
    discriminator_batch: int | None = None
    """Transitions of each kind per step of the discriminator; None: as PPO's."""
    replay: int = 100_000
    """Transitions of the policy that the discriminator remembers."""
    init_std: float = 1.0
    """Deviation of the first actions; not stated in the paper."""
    student_std: float = 1.0
    """The same of a student that has a teacher to follow.

    It need not explore, and who stumbles at random learns from stumbles.
    """
    student_kl: tuple[float, float] = (0.01, 0.01)
    """Target KL divergence of the updates in stages 2 and 3, which sets their learning
    rate; stage 1 and students without a teacher keep the paper's.

    With the teacher's full weight and little noise its gradient alone uses up 0.01 at
    the smallest learning rate there is.
    """
    teacher_pull: tuple[float, float] = (1.0, 1.0)
    """Factor on both weights of TA-MSE, lambda and beta, in stages 2 and 3.

    1 sums the squared distance over joints, as the paper's equations do; 1 / 25 is its
    mean, as the name says. A student that sees estimates cannot do all that its teacher
    does, and with the sum it tries nothing else.
    """
    velocity_error: float = 0.0
    """Deviation of an error on the velocity that the student sees in stage 2, m/s.

    Not in the paper. See `solo.envs.mdp.blurred_velocity`.
    """
    depth: str = "paper"
    """Size of depth images and reconstructed maps, a key of `IO_PROFILES`."""
    physics: tuple[float, int] = (0.005, 4)
    """Physics step in seconds, and steps per control step."""
    max_init_level: int = 5
    """Hardest terrain level of the first episodes; not stated in the paper."""
    mirror: bool = False
    """Whether the teacher learns from each sample and its mirror image."""
    symmetric_teacher: bool = False
    """Whether the teacher of stage 1 is symmetric by construction."""
    symmetric: bool = False
    """Whether the student and its teacher in stages 2 and 3 are symmetric by
    construction (`solo.networks.symmetry`), and the reconstructor learns from mirror
    images."""
    save_interval: int = 100
    """Iterations between checkpoints."""
    ease_in: EaseInCfg | None = None
    """What becomes harder over the first part; None: nothing, as in the paper."""

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Field to the paper's value and this profile's, where they differ."""
        paper = Profile()
        return {
            f.name: (getattr(paper, f.name), getattr(self, f.name))
            for f in fields(self)
            if f.name != "name" and getattr(paper, f.name) != getattr(self, f.name)
        }


LAPTOP = Profile(
    name="laptop",
    num_envs=(256, 256, 128),
    iterations=(3000, 1500, 1000),
    epochs=2,
    ame=AmeCfg(dim=32, num_heads=8, hidden_channels=8, kernel_size=3, map_stride=2),
    critic_head=(256, 256, 128),
    student_head=(256, 256, 128),
    critic_model="solo.networks.flat_map_model:FlatMapModel",
    discriminator=(256, 128),
    discriminator_updates=8,
    discriminator_batch=1024,
    replay=20_000,
    student_std=0.3,
    student_kl=(0.1, 0.02),
    teacher_pull=(1.0, 1 / 25),
    velocity_error=0.15,
    depth="laptop",
    init_std=0.8,
    mirror=True,
    symmetric=True,
    max_init_level=0,
    save_interval=50,
    ease_in=EaseInCfg(),
)

REDUCED = Profile(
    name="reduced",
    # Per GPU of two.
    num_envs=(2048, 2048, 2048),
    iterations=(50_000, 20_000, 3_000),
    depth="laptop",
)
"""The paper's reduced-compute protocol: half-resolution depth, 2 x 2048 environments,
3000 iterations of the perceptive stage. Its map keeps every second cell, too, which the
paper does not say."""

SMOKE = Profile(
    name="smoke",
    num_envs=(8, 8, 4),
    iterations=(2, 2, 2),
    epochs=1,
    mini_batches=2,
    ame=AmeCfg(dim=8, num_heads=2, hidden_channels=2, kernel_size=3, map_stride=4),
    teacher_head=(16,),
    student_head=(16,),
    critic_head=(16,),
    discriminator=(16,),
    discriminator_updates=1,
    discriminator_batch=16,
    replay=1000,
    init_std=0.5,
    max_init_level=0,
    ease_in=EaseInCfg(env_steps=1000.0, swing_env_steps=500.0),
)

PROFILES = {p.name: p for p in (Profile(), REDUCED, LAPTOP, SMOKE)}


def get_profile(name: str) -> Profile:
    """Look up a profile by name.

    Raises:
        SoloError: There is no profile of that name.
    """
    if name not in PROFILES:
        raise unknown_name("profile", name, PROFILES, "Choose one of these.")
    return PROFILES[name]


def default_profile(device: str) -> Profile:
    """The paper's on CUDA, the laptop's on CPU."""
    return PROFILES["laptop" if device == "cpu" else "paper"]
