"""Query Reconstructor (QR): every cell of the map asks the sensors for its height.

A residual network makes visual tokens of each depth image, an MLP makes one token of
each frame of proprioception, and a Transformer encoder turns them into the sensor
memory. Each cell's coordinates, Fourier-encoded, are a query that reads the memory by
cross-attention; so does one learned query for the velocity. SOLO paper, section "Query
Reconstructor" and the table of layer-wise dimensions.

    depth [B, 4, 64, 113]  - ResNet -> 4 x 32 tokens --+
                                                       +- encoder -> memory [B, 138, 64]
    proprioception [B, 10, 84] - MLP -> 10 tokens -----+      |
    cells [512, 2] - Fourier - linear -> 512 queries --- cross-attention -> heights
    1 learned query -----------------------------------------+---------> velocity

Stated: 64 features, 8 heads, 4 encoder and 2 cross-attention layers, 12 frequencies,
and 0.54 M parameters in all. Not stated, and chosen here:

- 4 x 8 tokens per image (stride 16), with learned embeddings of place in the image and
  of age. The paper names learned temporal embeddings for proprioception only; without
  any, the visual tokens would be a set and no query could tell left from right.
- Feed-forward widths of 256 and a ResNet of 16-32-64-88 channels: 0.54 M parameters.
- ReLU, normalisation before each sublayer, see `transformer`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import nn

from solo.reconstruction.networks.depth_encoder import DepthEncoder
from solo.reconstruction.networks.evidence import CellEvidence, EvidenceCfg
from solo.reconstruction.networks.interface import (
    Outputs,
    ReconstructionIoCfg,
    Reconstructor,
    State,
    clear_rows,
    make_frame_mlp,
    make_head,
)
from solo.reconstruction.networks.transformer import AttentionLayer


@dataclass(frozen=True)
class QueryReconstructorCfg:
    """Sizes of the Query Reconstructor; the defaults are the paper's."""

    io: ReconstructionIoCfg = field(default_factory=ReconstructionIoCfg)
    """Sizes of inputs and outputs."""
    dim: int = 64
    """Features of tokens and queries."""
    num_heads: int = 8
    """Attention heads."""
    encoder_layers: int = 4
    """Self-attention layers that make the memory."""
    decoder_layers: int = 2
    """Cross-attention layers of the queries."""
    encoder_ff_dim: int = 256
    """Width of the feed-forward networks of the encoder."""
    decoder_ff_dim: int = 256
    """Width of the feed-forward networks of the decoder."""
    num_frequencies: int = 12
    """Frequencies of the Fourier encoding of the cells."""
    channels: tuple[int, ...] = (16, 32, 64, 88)
    """Channels of the ResNet: stem, then one residual block each."""
    strides: tuple[int, ...] = (2, 2, 2, 2)
    """Strides of the same; their product is the size of a token in pixels."""
    proprioception_hidden_dim: int = 128
    """Width of the MLP of proprioception."""
    head_hidden_dim: int = 64
    """Width of the height head and of the velocity head."""
    evidence: EvidenceCfg | None = None
    """Tell each query what was measured over its cell (variant ``qr_evidence``)."""


class FourierEncoding:
    """Encodes places (x, y) in metres, heading frame.

    Tancik et al., "Fourier Features Let Networks Learn High Frequency Functions in Low
    Dimensional Domains", arXiv 2006.10739. The SOLO paper gives 12 frequencies. Not
    stated, and chosen here:

    - x and y are divided by the same length, half the longer side of the window, so
      that equal distances have equal encodings along both axes; x is then in [-1, 1].
    - The frequencies grow geometrically from half a period per unit to the highest
      that the queries can carry, half a period per query. Twelve doublings would go 128
      times beyond it, where neighbours no longer resemble each other.
    - The coordinates themselves are features too.
    """

    def __init__(self, io: ReconstructionIoCfg, num_frequencies: int = 12) -> None:
        """Choose origin, unit and frequencies from the window and its cells."""
        window = io.height_map
        (x_low, x_high), (y_low, y_high) = window.x_range_m, window.y_range_m
        self.unit_m = max(x_high - x_low, y_high - y_low) / 2.0
        self.origin_m = torch.tensor([x_low + x_high, y_low + y_high]) / 2.0
        top = self.unit_m / (window.cell_m * io.query_block)  # Half periods per unit.
        steps = torch.arange(num_frequencies) / max(num_frequencies - 1, 1)
        self.frequencies = math.pi * top**steps
        self.dim = 2 + 4 * num_frequencies

    def __call__(self, xy_m: torch.Tensor) -> torch.Tensor:
        """Encode places [..., 2], metres, as [..., 2 + 4 K].

        x and y, then sines of x and of y, cosines of x and of y at each of the K
        frequencies.
        """
        places = (xy_m - self.origin_m) / self.unit_m
        angles = (places.unsqueeze(-1) * self.frequencies).flatten(-2)  # [..., 2 K]
        return torch.cat([places, angles.sin(), angles.cos()], dim=-1)


class QueryReconstructor(Reconstructor):
    """QR. As state it keeps the visual tokens of the frames that are still needed.

    The tokens are those of the weights they were made with: after an update, up to 13
    steps pass until streaming equals batches again.
    """

    def __init__(self, cfg: QueryReconstructorCfg | None = None) -> None:
        """Create the network."""
        self.cfg = cfg = cfg or QueryReconstructorCfg()
        io, dim = cfg.io, cfg.dim
        super().__init__(io)
        self.encoder = DepthEncoder(1, cfg.channels, cfg.strides)
        rows, columns = self.encoder.grid(io.depth_shape)
        self.tokens_per_frame = rows * columns
        self.token_projection = nn.Linear(self.encoder.output_channels, dim)
        self.token_norm = nn.LayerNorm(dim)
        self.spatial_embedding = _embedding(self.tokens_per_frame, dim)
        self.frame_embedding = _embedding(io.depth_frames, 1, dim)
        self.proprioception_mlp = make_frame_mlp(
            io.proprioception_dim, cfg.proprioception_hidden_dim, dim
        )
        self.step_embedding = _embedding(io.proprioception_frames, dim)
        self.encoder_layers = nn.ModuleList(
            AttentionLayer(dim, cfg.num_heads, cfg.encoder_ff_dim)
            for _ in range(cfg.encoder_layers)
        )
        self.memory_norm = nn.LayerNorm(dim)
        encoding = FourierEncoding(io, cfg.num_frequencies)
        self.cell_features: torch.Tensor  # [queries, 2 + 4 K]
        cells = torch.from_numpy(io.height_map.centres_h()).float().movedim(-1, 0)
        features = encoding(io.to_blocks(cells).mean(dim=-1).T)
        self.register_buffer("cell_features", features, persistent=False)
        self.query_projection = nn.Linear(encoding.dim, dim)
        self.velocity_query = _embedding(1, dim)
        self.decoder_layers = nn.ModuleList(
            AttentionLayer(dim, cfg.num_heads, cfg.decoder_ff_dim)
            for _ in range(cfg.decoder_layers)
        )
        self.query_norm = nn.LayerNorm(dim)
        self.height_head = make_head(dim, cfg.head_hidden_dim, io.query_block**2)
        self.velocity_head = make_head(dim, cfg.head_hidden_dim, 3)
        self.evidence = None
        if cfg.evidence is not None:
            self.evidence = CellEvidence(cfg.evidence, io, io.query_block)
            self.evidence_mlp = make_frame_mlp(
                self.evidence.channels, cfg.evidence.hidden_dim, dim
            )

    def forward(
        self,
        depth: torch.Tensor,
        proprioception: torch.Tensor,
        state: State | None = None,
        frame_of: torch.Tensor | None = None,
        cells: torch.Tensor | None = None,
        return_attention: bool = False,
    ) -> tuple[Outputs, State | None]:
        """Reconstruct the ground, see `Reconstructor.forward`.

        With ``cells`` [n], numbers of queries, only these are asked, and ``height`` is
        [B, n, block * block]: a sample of the loss at a fraction of its cost.

        With a state only the newest image is encoded; the others of the window must be
        those that were newest 4, 8 and 12 steps ago, the first one of the episode if
        there are not as many, as `solo.sensors.depth.camera.DepthHistory` has it.

        With ``return_attention`` the outputs have ``attention`` [B, queries, memory]:
        how much each query looks at each token in the last layer. Tokens are the
        images from oldest to newest, row by row, then proprioception.
        """
        if state is not None:
            return self.step(depth[:, -1], proprioception, state, return_attention)
        if frame_of is None:
            tokens = self.encode_frame(depth.flatten(0, 1))
            tokens = tokens.unflatten(0, (-1, self.io.depth_frames))
            newest = depth[:, -1]
        else:
            tokens = self.encode_frame(depth)[frame_of]
            newest = depth[frame_of[:, -1]]
        memory = self.remember(tokens, proprioception)
        seen = self.look(newest, proprioception, cells)
        return self.decode(memory, seen, cells, return_attention), None

    def step(
        self,
        image: torch.Tensor,
        proprioception: torch.Tensor,
        state: State,
        return_attention: bool = False,
    ) -> tuple[Outputs, State]:
        """Reconstruct from the newest image [B, H, W] and the tokens of older ones."""
        newest, seen = self.encode_frame(image), self.look(image, proprioception)
        return self.go_on(newest, seen, proprioception, state, return_attention)

    def go_on(
        self,
        newest: torch.Tensor,
        seen: torch.Tensor | None,
        proprioception: torch.Tensor,
        state: State,
        return_attention: bool = False,
    ) -> tuple[Outputs, State]:
        """What follows the encoder in `step`; here the batch may be left out.

        ``newest`` are the tokens of the newest image [B, N, D], ``seen`` what `look`
        gave.
        """
        newest = newest.unsqueeze(-3)  # [B, 1, N, D]
        history, started = state
        shifted = torch.cat([history[..., 1:, :, :], newest], dim=-3)
        is_started = started[..., None, None, None] > 0.5
        history = torch.where(is_started, shifted, newest.expand_as(history))
        window = history[..., :: self.io.depth_stride, :, :]
        memory = self.remember(window, proprioception)
        outputs = self.decode(memory, seen, return_attention=return_attention)
        return outputs, (history, torch.ones_like(started))

    def look(
        self,
        image: torch.Tensor,
        proprioception: torch.Tensor,
        cells: torch.Tensor | None = None,
    ) -> torch.Tensor | None:
        """What to add to the queries of cells [B, n, D]; None if it is nothing."""
        if self.evidence is None:
            return None
        measured = self.evidence(image, proprioception)
        return self.evidence_mlp(measured if cells is None else measured[:, cells])

    def encode_frame(self, images: torch.Tensor) -> torch.Tensor:
        """Visual tokens [B, N, D] of images [B, H, W], whatever their age."""
        features = self.encoder(images.unsqueeze(1))  # [B, C, h, w]
        tokens = self.token_projection(features.flatten(2).transpose(1, 2))
        return self.token_norm(tokens) + self.spatial_embedding

    def remember(
        self, tokens: torch.Tensor, proprioception: torch.Tensor
    ) -> torch.Tensor:
        """The sensor memory [B, T * N + T, D] of tokens [B, T, N, D], oldest first."""
        visual = (tokens + self.frame_embedding).flatten(-3, -2)
        frames = self.proprioception_mlp(self.normalizer(proprioception))
        memory = torch.cat([visual, frames + self.step_embedding], dim=-2)
        for layer in self.encoder_layers:
            memory = layer(memory)
        return self.memory_norm(memory)

    def decode(
        self,
        memory: torch.Tensor,
        seen: torch.Tensor | None = None,
        cells: torch.Tensor | None = None,
        return_attention: bool = False,
    ) -> Outputs:
        """Heights and velocity from a memory [B, M, D], in any order of tokens.

        Of the cells asked for [n], or of all, with ``seen`` [B, n, D] added to their
        queries.
        """
        every = slice(None) if cells is None else cells
        queries = self.query_projection(self.cell_features[every])  # [cells, D]
        if seen is not None:
            queries = queries + seen
        velocity_query = self.velocity_query.expand(*queries.shape[:-2], -1, -1)
        queries = torch.cat([queries, velocity_query], dim=-2)
        asked = queries
        for layer in self.decoder_layers:
            asked, queries = queries, layer(queries, memory)
        decoded = self.query_norm(queries)  # [B, Q, D]
        relief = self.height_head(decoded[..., :-1, :])  # [B, n, block * block]
        if cells is None:
            relief = self.io.from_blocks(relief)
        outputs = {
            "height": self.to_metres(relief),
            "velocity": self.velocity_head(decoded[..., -1, :]),
        }
        if return_attention:
            weights = self.decoder_layers[-1].weights(asked, memory)  # type: ignore[operator] - A layer of ours.
            outputs["attention"] = weights[..., :-1, :]
        return outputs

    def state_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Tokens of the last steps, oldest first, and whether there are any yet."""
        length = (self.io.depth_frames - 1) * self.io.depth_stride + 1
        return (length, self.tokens_per_frame, self.cfg.dim), ()

    def reset_state(self, state: State | None, envs: torch.Tensor) -> State | None:
        """Begin new episodes: their next image replaces all that came before."""
        if state is None:
            return None
        return state[0], clear_rows(state[1], envs)


def _embedding(*shape: int) -> nn.Parameter:
    """Learned vectors, half as large as the normalised tokens they are added to."""
    return nn.Parameter(0.5 * torch.randn(*shape))
