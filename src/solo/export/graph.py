"""The whole policy as one module for ONNX: sensors and state in, action and state out.

    image, proprioception ---> reconstructor ---> map, velocity ---> student ---> action
    tokens, started --------->              ---> tokens, started
    h, c ------------------------------------------------------->        ---> h, c

Normalisation is inside. All inputs have a batch of one. The names of the weights are
kept, so that `solo.export.read` can make the torch modules again from the file alone.
"""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import torch
from torch import nn

from solo.deploy.bundle.format import OPSET
from solo.errors import SoloError
from solo.networks.export import RecurrentExport
from solo.networks.student import StudentModel
from solo.reconstruction.networks.interface import Reconstructor
from solo.reconstruction.networks.query_reconstructor import QueryReconstructor

VELOCITY_GROUPS = ("reconstructed_velocity", "base_velocity")
"""Names of the student's group that the reconstructor's velocity takes the place of."""


class PolicyGraph(nn.Module):
    """Reconstructor and student, on whole windows: nothing is reused between steps."""

    sensor_names: tuple[str, ...] = ("depth", "proprioception")
    view_names: tuple[str, ...] = ("actions", "height_map", "velocity", "attention")
    state_names: tuple[str, ...] = ("h", "c")

    def __init__(self, student: StudentModel, reconstructor: Reconstructor) -> None:
        """Copy both networks."""
        super().__init__()
        self.student = RecurrentExport(student)
        self.reconstructor = copy.deepcopy(reconstructor)
        self.io = reconstructor.io
        self.groups = tuple(_kind(group) for group in student.obs_groups)
        if self.io.height_map != student.height_map_cfg:
            raise SoloError(
                f"The reconstructor's map is {self.io.height_map} but the student's is "
                f"{student.height_map_cfg}. Export networks of one training."
            )
        if reconstructor.episode_memory:
            raise SoloError(
                "The reconstructor has a memory of the episode (start_memory, "
                "dpl_memory), which bundles cannot carry yet. Export a policy with "
                "another reconstructor."
            )
        self.eval().requires_grad_(False)

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        h: torch.Tensor,
        c: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """Compute one step.

        Args:
            depth: Images [1, T, H, W].
            proprioception: Frames [1, T, D].
            h: Output of the student's memory [layers, 1, hidden], `RecurrentExport`.
            c: State of the student's memory, of the same shape.

        Returns:
            Action [1, joints], map [1, Y, X], velocity [1, 3], attention [1, Y', X'],
            and the new h, c.
        """
        outputs, _ = self.reconstructor(depth, proprioception)
        return self.act(outputs["height"], outputs["velocity"], proprioception, h, c)

    def act(
        self,
        height_map: torch.Tensor,
        velocity: torch.Tensor,
        proprioception: torch.Tensor,
        h: torch.Tensor,
        c: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """The student's part; see `forward`."""
        sources = {"proprioception": proprioception[:, -1], "velocity": velocity}
        vector = torch.cat([sources[group] for group in self.groups], dim=-1)
        action, weights, h_out, c_out = self.student.step(vector, height_map, h, c)
        return action, height_map, velocity, weights.mean(dim=1), h_out, c_out

    def initial_state(self) -> tuple[torch.Tensor, ...]:
        """State at the beginning of an episode: zeros."""
        state = torch.zeros(self.student.state_shape)
        return state, state.clone()

    def dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs at the beginning of an episode, for tracing."""
        io = self.io
        return (
            torch.zeros(1, io.depth_frames, *io.depth_shape),
            torch.zeros(1, io.proprioception_frames, io.proprioception_dim),
            *self.initial_state(),
        )

    @property
    def input_names(self) -> list[str]:
        """Names of the graph's inputs."""
        return [*self.sensor_names, *(f"{name}_in" for name in self.state_names)]

    @property
    def output_names(self) -> list[str]:
        """Names of the graph's outputs."""
        return [*self.view_names, *(f"{name}_out" for name in self.state_names)]


class StreamingGraph(PolicyGraph):
    """The same with the Query Reconstructor, which encodes each image once.

    The tokens of the last 13 steps go in and come out. Zeros in ``started`` begin an
    episode: the image then stands in for older ones.
    """

    sensor_names = ("image", "proprioception")
    state_names = ("h", "c", "tokens", "started")
    reconstructor: QueryReconstructor

    def forward(
        self,
        image: torch.Tensor,
        proprioception: torch.Tensor,
        h: torch.Tensor,
        c: torch.Tensor,
        tokens: torch.Tensor,
        started: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """Compute one step from the newest image [1, H, W]; see `PolicyGraph.forward`.

        Tokens [1, 13, N, D] are those of the steps before, oldest first, and
        ``started`` [1] tells whether there are any; the new ones come last.
        """
        newest = self.reconstructor.encode_frame(image)[0]
        looked = self.reconstructor.look(image, proprioception)
        # From here without the batch of one: onnxruntime multiplies matrices with fewer
        # operators around the product.
        seen, state = self.reconstructor.go_on(
            newest,
            None if looked is None else looked[0],
            proprioception[0],
            (tokens[0], started[0]),
        )
        height, velocity = seen["height"][None], seen["velocity"][None]
        acted = self.act(height, velocity, proprioception, h, c)
        return *acted, *(part[None] for part in state)

    def initial_state(self) -> tuple[torch.Tensor, ...]:
        """State at the beginning of an episode: zeros."""
        return *super().initial_state(), *self.reconstructor.initial_state(1, "cpu")

    def dummy_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs at the beginning of an episode, for tracing."""
        depth, proprioception, *state = super().dummy_inputs()
        return depth[:, -1], proprioception, *state


def make_graph(
    student: StudentModel, reconstructor: Reconstructor, streaming: bool = True
) -> PolicyGraph:
    """What runs on a robot: streaming where the method and the caller allow it."""
    if streaming and isinstance(reconstructor, QueryReconstructor):
        return StreamingGraph(student, reconstructor)
    return PolicyGraph(student, reconstructor)


def write_graph(graph: PolicyGraph, path: Path) -> None:
    """Write a graph on CPU as ONNX.

    Constants are left to the runtime, which folds them when it loads the file: folding
    here would rename the weights.
    """
    graph.eval()
    # A graph "in training" keeps weights apart that happen to be equal, such as the
    # zeros that biases begin with. Nothing inside looks at it.
    graph.training = True
    with warnings.catch_warnings():
        # That sizes become constants, which is wanted.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            graph.dummy_inputs(),
            str(path),
            opset_version=OPSET,
            input_names=graph.input_names,
            output_names=graph.output_names,
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
            dynamo=False,
        )
    graph.eval()


def _kind(group: str) -> str:
    """What a vector group of the student is on a robot."""
    if group == "proprioception":
        return group
    if group in VELOCITY_GROUPS:
        return "velocity"
    raise SoloError(
        f"The policy looks at {group!r}, which a robot cannot measure. Only the "
        "student of the perceptive stage can be exported."
    )
