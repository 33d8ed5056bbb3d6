"""Speed of a policy bundle on one robot, against torch on the same observations.

A simulated D455 gives 640x480 images at 60 Hz through the runtime's own capture thread,
and the control loop runs at the policy's rate, as it does on a robot. Torch takes whole
windows and reuses nothing between steps. Both begin a step on a tick of the control
loop, so that both find the caches as cold as a robot's other work leaves them, and they
take turns, so that they meet the same load of the machine: compare numbers of one run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from solo.bench.cfg import PolicyBenchCfg
from solo.deploy.bundle.load import Bundle, load_bundle
from solo.deploy.camera import Capture, DepthImage, DepthProcessor
from solo.deploy.contract import Contract, DepthContract
from solo.deploy.drivers.protocols import Camera, DepthFrame, RobotState
from solo.deploy.observation import Observation, Observer
from solo.deploy.safety import SafetyCfg, check_action
from solo.export.graph import PolicyGraph
from solo.export.read import read_torch
from solo.export.write import walk_inputs
from solo.progress import make_progress
from solo.robots import get_robot

CAMERA_HZ = 60.0
"""Rate of the paper's depth stream."""


def bench_policy(cfg: PolicyBenchCfg) -> dict[str, Any]:
    """Measure inference and the whole pipeline.

    Returns:
        For the first number of threads: ``mean_ms``, ``std_ms``, ``p95_ms``, ``p99_ms``
        of inference; the same with ``pipeline_`` for image processing, observation,
        inference, checks and targets; the same with ``torch_``; ``speedup_over_torch``,
        ``max_abs_difference`` of the actions. With ``cpu_`` and ``torch_cpu_`` the CPU
        time of the calling thread, which tells more than the clock when the computer
        is busy and there is one thread; ``cpu_speedup_over_torch`` compares medians.
        Under ``threads`` all of it for each number of threads. And ``bundle_bytes``,
        ``camera_hz``, ``steps``, ``provider``.
    """
    result: dict[str, Any] = {}
    with make_progress() as progress:
        task = progress.add_task("rounds", total=cfg.rounds * len(cfg.threads))
        for threads in cfg.threads:
            bundle = load_bundle(cfg.bundle, cfg.provider, threads)
            graph = read_torch(cfg.bundle, bundle.metadata["architecture"])
            with _torch_threads(threads), _Rig(bundle, graph) as rig:
                for _ in range(cfg.rounds):
                    rig.measure(cfg.steps // cfg.rounds, cfg.torch_steps // cfg.rounds)
                    progress.advance(task)
                result[str(threads)] = rig.result()
    return {
        **result[str(cfg.threads[0])],
        "bundle_bytes": cfg.bundle.stat().st_size,
        "steps": cfg.steps,
        "provider": cfg.provider,
        "threads": result,
    }


class SimulatedD455(Camera):
    """Depth images of a staircase, on time."""

    name = "simulated D455"

    def __init__(self, frames_mm: np.ndarray) -> None:
        self._frames, self._count, self._next_s = frames_mm, 0, 0.0

    def start(self) -> None:
        """Begin now."""
        self._next_s = time.monotonic()

    def wait(self, timeout_s: float) -> DepthFrame | None:
        """The next frame, when it is due."""
        del timeout_s
        time.sleep(max(0.0, self._next_s - time.monotonic()))
        self._next_s = max(self._next_s, time.monotonic() - 1.0)
        self._next_s += 1.0 / CAMERA_HZ
        self._count += 1
        frame = self._frames[self._count % len(self._frames)]
        return DepthFrame(time.monotonic(), frame, self._count)


class _TimedProcessor(DepthProcessor):
    """Remembers how long each image took."""

    def __init__(self, cfg: DepthContract) -> None:
        super().__init__(cfg)
        self.seconds: dict[int, float] = {}

    def __call__(self, frame: DepthFrame) -> DepthImage:
        begin = time.perf_counter()
        image = super().__call__(frame)
        self.seconds[frame.sequence] = time.perf_counter() - begin
        return image


class _Rig:
    """A bundle, its torch twin, a camera, and the times they took so far."""

    def __init__(self, bundle: Bundle, graph: PolicyGraph) -> None:
        self.bundle, self.graph = bundle, graph
        contract, robot = bundle.contract, get_robot(bundle.metadata["robot"])
        depth = contract.depth
        camera = replace(
            robot.depth_camera, output_width=depth.width, output_height=depth.height
        )
        frames = walk_inputs(robot, camera, 12)["depth_mm"]
        self._processor = _TimedProcessor(depth)
        self._capture = Capture(SimulatedD455(frames), self._processor)
        self._observer, self._rng = Observer(contract), np.random.default_rng(0)
        kinds = ("", "pipeline_", "torch_", "cpu_", "torch_cpu_")
        self._times: dict[str, list[float]] = {kind: [] for kind in kinds}
        self._difference = 0.0
        self._camera = [0.0, 0.0]

    def __enter__(self) -> _Rig:
        self._capture.start()
        self._camera[0] = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._camera[1] = time.monotonic()
        self._capture.close()

    def measure(self, steps: int, torch_steps: int) -> None:
        """One episode: the bundle at its rate, then torch on its first steps again."""
        contract = self.bundle.contract
        self.bundle.policy.reset()
        self._observer.reset()
        action = np.zeros(len(contract.joints.names))
        seen: list[tuple[Observation, np.ndarray]] = []
        for step in range(steps):
            _wait_for_tick(contract.period_s)
            observation, action = self._step(action)
            if step < torch_steps:
                seen.append((observation, action))
        self._compare(seen)

    def _step(self, action: np.ndarray) -> tuple[Observation, np.ndarray]:
        contract = self.bundle.contract
        state = _random_state(contract, self._rng)
        begin = time.perf_counter()
        image = self._capture.newest()
        observation = self._observer.observe(state, image, np.zeros(3), action)
        before, cpu = time.perf_counter(), time.thread_time()
        last, action = action, self.bundle.policy.step(observation)
        after, cpu = time.perf_counter(), time.thread_time() - cpu
        check_action(SafetyCfg(), contract.joints, action, last)
        contract.joints.targets(action)
        end = time.perf_counter()
        assert image is not None
        image_s = self._processor.seconds[image.sequence]
        self._times[""].append(after - before)
        self._times["cpu_"].append(cpu)
        self._times["pipeline_"].append(end - begin + image_s)
        return observation, action

    @torch.inference_mode()
    def _compare(self, seen: list[tuple[Observation, np.ndarray]]) -> None:
        state: Any = self.graph.initial_state()
        for step, (observation, expected) in enumerate(seen):
            depth = torch.from_numpy(observation.depth_window)
            window = torch.from_numpy(observation.proprioception_window)
            _wait_for_tick(self.bundle.contract.period_s)
            begin, cpu = time.perf_counter(), time.thread_time()
            action, _, _, _, *state = self.graph(depth[None], window[None], *state)
            if step > 0:  # The first one after a change of subject is not counted.
                self._times["torch_"].append(time.perf_counter() - begin)
                self._times["torch_cpu_"].append(time.thread_time() - cpu)
            difference = np.abs(action[0].numpy() - expected).max()
            self._difference = max(self._difference, float(difference))

    def result(self) -> dict[str, float]:
        """Statistics of all rounds."""
        found: dict[str, float] = {}
        for prefix, times in self._times.items():
            values = 1e3 * np.array(times)
            found |= {
                f"{prefix}mean_ms": float(values.mean()),
                f"{prefix}std_ms": float(values.std()),
                f"{prefix}median_ms": float(np.median(values)),
                f"{prefix}p95_ms": float(np.quantile(values, 0.95)),
                f"{prefix}p99_ms": float(np.quantile(values, 0.99)),
            }
        seconds = time.monotonic() - self._camera[0]
        return {
            **found,
            "speedup_over_torch": found["torch_mean_ms"] / found["mean_ms"],
            "cpu_speedup_over_torch": (
                found["torch_cpu_median_ms"] / found["cpu_median_ms"]
            ),
            "max_abs_difference": self._difference,
            "camera_hz": self._capture.num_frames / seconds,
        }


def _wait_for_tick(period_s: float) -> None:
    """Sleep until the clock shows the next multiple of the period."""
    time.sleep(period_s - time.monotonic() % period_s)


def _random_state(contract: Contract, rng: np.random.Generator) -> RobotState:
    """A robot near its default pose."""
    joints = contract.joints
    return RobotState(
        time.monotonic(),
        joints.default_pos + 0.1 * rng.standard_normal(len(joints.names)),
        rng.standard_normal(len(joints.names)),
        np.array([1.0, 0.0, 0.0, 0.0]),
        0.2 * rng.standard_normal(3),
    )


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
