"""Sizes of a training run: the paper's, a laptop's, or a smoke test's.

A profile is data. `differences` lists everything it changes from the paper; runs store
it in ``run.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from solo.envs.mdp.soft_voids import SoftVoidsCfg
from solo.envs.observations_cfg import Stage
from solo.errors import unknown_name
from solo.networks.ame import AmeCfg


@dataclass(frozen=True)
class PerceptionCfg:
    """The reconstructor's part of stage 3; the defaults are the paper's size."""

    reconstructor: str = "qr"
    """Key of `RECONSTRUCTORS`, if a run does not ask for another."""
    samples: int = 8_192
    """Windows kept of a rollout; not stated in the paper."""
    batch: int = 512
    """Windows per update of the reconstructor; not stated in the paper."""
    updates: int = 16
    """Updates of the reconstructor per iteration; not stated in the paper."""
    streaming: bool = True
    """Encode one image per step and keep the tokens of older ones (QR)."""
    warm_up_iterations: int = 0
    """Iterations at the start in which the student still sees what stage 2 showed it.

    Not in the paper, which attaches the reconstructor at once. An untrained one shows
    flat ground and no motion; a student that has few samples to recover from it falls
    out of its gait, and the reconstructor then learns from falls.
    """
    warm_up_updates: int = 0
    """Updates of the reconstructor in each of those."""
    cells: int = 0
    """Queries that a query network answers per update, others each time; 0 for all. Not
    in the paper."""
    neighbours: int = 1
    """Windows of a batch that are of one robot and so share images, which are encoded
    once; 1 for independent windows. Not in the paper."""
    check_every: int = 50
    """Iterations between two looks at what happens without depth."""
    network: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the reconstructor's config that differ from its defaults."""


@dataclass(frozen=True)
class OfflineCfg:
    """A reconstructor's training on recorded data; the defaults are the paper's."""

    frames: int = 249_000
    """Frames that the teacher records."""
    robots: int = 64
    """Robots per shard of the recording; not stated in the paper."""
    steps: int = 200
    """Control steps per robot; not stated in the paper."""
    updates: int = 15_000
    """Optimiser steps."""
    batch: int = 64
    """Windows per update; not stated in the paper."""


@dataclass(frozen=True)
class EaseInCfg:
    """What becomes harder over the first part of training.

    Not in the paper. With a laptop's sample budget, a robot that is pushed and has to
    walk backwards from the first step learns to stand still; see
    ``docs/training-notes.md``.
    """

    env_steps: float = 100.0e6
    """Samples after which everything but the support torque, ``stride_weight`` and
    ``progress_weight`` is as in the paper.

    With 40 million a good teacher of 18.5 million samples lost stairs when it went on;
    with 100 million it gained."""
    assist: bool = True
    """Whether a support torque keeps the teacher upright at first; it fades as falls
    become rare."""
    reference_start: float = 0.8
    """Share of episodes that start in a reference motion; it falls to half of this."""
    swing_weight: float = 4.0
    """Initial weight of the foot-lift reward (``swing_lift``)."""
    swing_env_steps: float = 8.0e6
    """Samples after which it is 0. At first it makes robots step; if kept, it makes
    them step in place."""
    stride_weight: float = 2.0
    """Weight of foot lift while moving (``stride``); it fades in as ``swing_weight``
    fades out.

    It is permanent. Without it robots lift their feet less and less, stop in front of
    obstacles, and earn no less: ignoring a command of 0.4 m/s costs only half of the
    tracking reward.
    """
    progress_weight: float = 3.0
    """Weight of the share of the commanded speed that is reached; also permanent.

    Tracking alone pays a standing robot 6.6 of 8 per second, so nothing that risks a
    fall is worth trying.
    """
    foothold_weight: float = 0.0
    """Initial weight of the penalty for feet across an edge; the paper's -5 at the end.

    On stairs an untrained robot has an edge under its foot in two of five steps. The
    full penalty would cancel its tracking reward, and it would learn to stay put.
    """
    lin_vel_x: tuple[float, float] = (0.4, 0.8)
    """Forward command at the start, m/s."""
    lin_vel_y: tuple[float, float] = (0.0, 0.0)
    """Sideways command at the start, m/s."""
    ang_vel_z: tuple[float, float] = (-0.3, 0.3)
    """Yaw-rate command at the start, rad/s.

    It bounds how fast robots turn towards their commanded heading. All robots have a
    heading command from the start: one that turns at a constant rate walks in circles
    and would be demoted to easier terrain however well it walks.
    """


@dataclass(frozen=True)
class HolesCfg:
    """How a teacher learns to place its feet on stones and beyond gaps.

    Not in the paper; see `solo.envs.mdp.soft_voids` and ``docs/training-notes.md``.
    """

    soft: SoftVoidsCfg = field(default_factory=SoftVoidsCfg)
    """When holes that are visible but filled become real."""
    weight: float = -300.0
    """Weight of `landing_cost`: 3 for a step onto a stone where every second place
    would be a miss."""
    along_rows: float = 0.9
    """Share of the robots on terrain with holes that walk along its rows."""


@dataclass(frozen=True)
class StageCfg:
    """Sizes and learning settings of one stage."""

    num_envs: int
    """Environments per GPU."""
    iterations: int
    """Length of the stage."""
    desired_kl: float = 0.01
    """Target KL divergence of the updates, which sets the learning rate.

    With the teacher loss at full weight and a small action std, its gradient alone
    reaches 0.01 even at the smallest learning rate.
    """
    init_std: float = 1.0
    """Initial action std; not stated in the paper.

    A student that has a teacher need not explore: with large random actions it would
    learn mostly from its own stumbles.
    """
    max_std: tuple[tuple[float, float], ...] | None = None
    """Upper bound of the mean action std as (samples, std) points, linearly
    interpolated; None: as learned.

    Learning lowers a teacher's std too slowly for a laptop: at 0.75 no foot lands where
    the policy intends. A student's rises by itself, from 0.3 to 0.39 within 3 M
    samples, too much for the stones that its teacher crosses.
    """
    teacher_pull: float = 1.0
    """Factor on both weights of TA-MSE, lambda and beta; for students.

    A student that acts on estimates cannot fully imitate its teacher: in raw units a
    step of stage 3 costs 0.4 and earns 0.03. 1 / 25 makes the sum over joints a mean.
    """
    epochs: int = 5
    """Passes over the samples of an iteration."""
    mini_batches: int = 4
    """Mini-batches per pass."""
    average_over: int | None = None
    """Iterations over which the weights that are evaluated, exported and imitated are
    averaged (`solo.algorithms.ppo_amp`); None: the newest ones, as in the paper.

    Late in training each checkpoint of a laptop's teacher forgets something else: two
    of them, 100 iterations apart, climbed the hardest stairs in 18 and 7 of 32 trials,
    their mean in 23.
    """


@dataclass(frozen=True)
class Profile:
    """Sizes of a training run; the defaults are the paper's."""

    name: str = "paper"
    """Key in `PROFILES`."""
    teacher: StageCfg = StageCfg(num_envs=4096, iterations=50_000)
    """Stage 1."""
    student: StageCfg = StageCfg(num_envs=4096, iterations=20_000)
    """Stage 2."""
    perceptive: StageCfg = StageCfg(num_envs=2048, iterations=5_000)
    """Stage 3."""
    perception: PerceptionCfg = field(default_factory=PerceptionCfg)
    """The reconstructor's part of stage 3."""
    offline: OfflineCfg = field(default_factory=OfflineCfg)
    """The reconstructor's training before stage 3, in `solo train all`."""
    ame: AmeCfg = field(default_factory=AmeCfg)
    """Map encoder of teacher, student and critic."""
    foot_view: bool = False
    """Whether teacher and student also get the ground around their feet, cut out of the
    map by their kinematics (`solo.networks.foot_view`). Not in the paper."""
    teacher_head: tuple[int, ...] = (256, 256, 128)
    """Hidden layers of the teacher."""
    student_head: tuple[int, ...] = (512, 256, 128)
    """Hidden layers of the student."""
    critic_head: tuple[int, ...] = (512, 256, 128)
    """Hidden layers of the critic; not stated in the paper."""
    critic_model: str = "solo.networks.ame_model:AmeModel"
    """Class of the critic; `FlatMapModel` is the cheap one."""
    critic_near_x_m: tuple[float, float] | None = None
    """Range ahead of the base in which a `FlatMapModel` sees every cell, metres."""
    discriminator: tuple[int, ...] = (1024, 512)
    """Hidden layers of the motion discriminator."""
    discriminator_updates: int | None = None
    """Discriminator updates per iteration; None: as many as PPO's."""
    discriminator_batch: int | None = None
    """Policy transitions, and as many reference transitions, per discriminator update;
    None: as PPO's."""
    replay: int = 100_000
    """Size of the discriminator's replay buffer of policy transitions."""
    critic_learning_rate: float | None = None
    """Learning rate of the critic; None: the actor's, as in the paper.

    With a small action std the KL target lowers the actor's learning rate so far that
    a critic sharing it falls behind the policy.
    """
    teacher_distance: str = "radians"
    """Interpretation of TA-MSE's distance between two actions: radians, raw or mean
    (`solo.algorithms.teacher_matching`).

    The paper's actions are joint offsets, hence radians. The laptop profile keeps raw
    units, which its policies were trained with, until an experiment shows that radians
    work there too.
    """
    velocity_error: float = 0.0
    """Standard deviation of the error added to the base velocity that the student sees
    in stage 2, m/s.

    Not in the paper. See `solo.envs.mdp.blurred_velocity`.
    """
    depth: str = "paper"
    """Size of depth images and reconstructed maps, a key of `IO_PROFILES`."""
    physics: tuple[float, int] = (0.005, 4)
    """Physics step in seconds, and steps per control step."""
    max_init_level: int = 5
    """Highest terrain level at the start of training; not stated in the paper."""
    restart_level: int = 0
    """Lowest terrain level to which a robot that has solved the hardest one is sent;
    not stated in the paper."""
    mirror: bool = False
    """Whether the teacher also learns from the mirror image of each sample."""
    symmetric_teacher: bool = False
    """Whether the teacher of stage 1 is symmetric by construction."""
    symmetric: bool = False
    """Whether the student and its teacher in stages 2 and 3 are symmetric by
    construction (`solo.networks.symmetry`), and the reconstructor learns from mirror
    images."""
    extra_motions: bool = False
    """Whether to add reference motions that go backwards, sideways and along curves;
    the paper's walk forward and turn in place."""
    terrain_weights: dict[str, float] = field(default_factory=dict)
    """Relative number of robots per terrain; equal, as in the paper, if empty."""
    holes: HolesCfg | None = None
    """How stones and gaps are taught; None: with real holes from the start, as in the
    paper."""
    end_beyond_patch_m: float | None = None
    """How far beyond its patch a teacher's episode ends, without penalty, metres; None:
    it goes on, as in the paper. If it ends there, only those are promoted who got that
    far without a fall.

    At 0 no robot ever sees the valley between two stairs, where nine in ten of the
    falls in the stress test on steep descending stairs were.
    """
    save_interval: int = 100
    """Iterations between checkpoints."""
    ease_in: EaseInCfg | None = None
    """What becomes harder over the first part of training; None: nothing, as in the
    paper."""

    def stage(self, name: Stage) -> StageCfg:
        """Sizes of a stage by name."""
        return getattr(self, name)

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Map each field that differs from the paper to (paper's, own) value.

        Fields of the parts are named with a dot, e.g. ``teacher.num_envs``.
        """
        paper, own = _flat(Profile()), _flat(self)
        return {
            name: (paper[name], own[name])
            for name in own
            if name != "name" and paper[name] != own[name]
        }


def _flat(profile: Profile) -> dict[str, Any]:
    """Every value by its path, as plain data."""
    values = asdict(profile)
    for part in ("teacher", "student", "perceptive", "perception", "offline"):
        fields = values.pop(part)
        values |= {f"{part}.{name}": value for name, value in fields.items()}
    return values


LAPTOP = Profile(
    name="laptop",
    teacher=StageCfg(
        num_envs=512,
        iterations=3000,
        desired_kl=0.02,
        init_std=0.8,
        max_std=((0.0, 0.8), (1.5e6, 0.5), (4e6, 0.35), (12e6, 0.2), (20e6, 0.13)),
        # As many updates as in two passes over four, in two thirds of the time.
        epochs=1,
        mini_batches=8,
        average_over=100,
    ),
    student=StageCfg(
        num_envs=256,
        iterations=1500,
        desired_kl=0.1,
        init_std=0.3,
        max_std=((0.0, 0.3), (1e6, 0.2)),
        epochs=2,
        average_over=50,
    ),
    perceptive=StageCfg(
        num_envs=128,
        iterations=1000,
        desired_kl=0.02,
        init_std=0.3,
        max_std=((0.0, 0.2),),
        teacher_pull=1 / 25,
        epochs=2,
        average_over=50,
    ),
    perception=PerceptionCfg(
        reconstructor="qr_evidence",
        samples=3_072,
        batch=64,
        updates=16,
        warm_up_iterations=25,
        warm_up_updates=48,
        cells=32,
        neighbours=4,
    ),
    offline=OfflineCfg(updates=6_000),
    physics=(0.01, 2),
    ame=AmeCfg(
        dim=32,
        num_heads=16,
        hidden_channels=16,
        kernel_size=3,
        map_stride=4,
        strided=True,
        value_dim=8,
        window_m=0.12,
        height_limit_m=1.6,
    ),
    foot_view=True,
    critic_near_x_m=(-0.3, 1.3),
    critic_head=(256, 256, 128),
    student_head=(256, 256, 128),
    critic_model="solo.networks.flat_map_model:FlatMapModel",
    discriminator=(256, 128),
    discriminator_updates=8,
    discriminator_batch=1024,
    replay=20_000,
    critic_learning_rate=1e-3,
    teacher_distance="raw",
    velocity_error=0.15,
    depth="laptop",
    symmetric_teacher=True,
    symmetric=True,
    max_init_level=0,
    restart_level=5,
    extra_motions=True,
    # Holes, and the stairs with the shortest treads, take longest to learn.
    terrain_weights={
        "gap": 2.0,
        "stones_aligned": 3.0,
        "stones_staggered": 2.5,
        "stairs_up_25": 2.5,
        "stairs_down_25": 2.5,
    },
    holes=HolesCfg(),
    end_beyond_patch_m=1.25,
    save_interval=50,
    ease_in=EaseInCfg(),
)

REDUCED = Profile(
    name="reduced",
    # Per GPU of two.
    teacher=StageCfg(num_envs=2048, iterations=50_000),
    student=StageCfg(num_envs=2048, iterations=20_000),
    perceptive=StageCfg(num_envs=2048, iterations=3_000),
    depth="reduced",
)
"""The paper's reduced-compute protocol: half-resolution depth, 2 x 2048 environments,
3000 iterations of the perceptive stage."""

SMOKE = Profile(
    name="smoke",
    teacher=StageCfg(
        num_envs=8,
        iterations=2,
        init_std=0.5,
        epochs=1,
        mini_batches=2,
        average_over=2,
    ),
    student=StageCfg(num_envs=8, iterations=2, epochs=1, mini_batches=2),
    perceptive=StageCfg(num_envs=4, iterations=2, epochs=1, mini_batches=2),
    perception=PerceptionCfg(samples=16, batch=8, updates=2, check_every=2),
    offline=OfflineCfg(frames=40, robots=2, steps=20, updates=2, batch=8),
    ame=AmeCfg(dim=8, num_heads=2, hidden_channels=2, kernel_size=3, map_stride=4),
    teacher_head=(16,),
    student_head=(16,),
    critic_head=(16,),
    discriminator=(16,),
    discriminator_updates=1,
    discriminator_batch=16,
    replay=1000,
    max_init_level=0,
    extra_motions=True,
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
    """The paper's profile on CUDA, the laptop's on CPU."""
    return PROFILES["laptop" if device == "cpu" else "paper"]
