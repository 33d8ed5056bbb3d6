"""Multi-head attention with one query, at a fraction of the usual cost.

With a single query per sample, projecting every token to a key and a value is wasted
work. For head h with query q_h, key and value projections W_k and W_v:

    logit_n = q_h . (W_k token_n)         = (W_k^T q_h) . token_n
    out_h   = sum_n a_n (W_v token_n)     = W_v (sum_n a_n token_n)

so the projections move to the query side and to the one weighted sum of tokens. The
result is that of ``torch.nn.MultiheadAttention``; at 512 tokens of 64 features and 16
heads, forward and backward take a fifth of its time on a CPU.

A bias of the keys would add the same number to all logits of a head, which softmax
ignores, so there is none.
"""

from __future__ import annotations

import math

import torch
from torch import nn

AHEAD_M = (0.0, 0.7)
"""Windows begin in rows between these distances ahead of the base, where feet land."""
ROW_M = 0.16
"""Distance between the windows of a row, metres."""


class OneQueryAttention(nn.Module):
    """Attention of one query over a set of tokens."""

    def __init__(self, dim: int, num_heads: int, value_dim: int | None = None) -> None:
        """Create the projections, initialised as in ``torch.nn.MultiheadAttention``.

        Heads share the features evenly; ``value_dim`` is what a head reports, if not
        its share.
        """
        super().__init__()
        if num_heads < 1 or dim % num_heads != 0:
            raise ValueError(
                f"Attention has {dim} features and {num_heads} heads; the features "
                "must be a multiple of the heads. Change dim or num_heads."
            )
        self.dim = dim
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.value_dim = value_dim or self.head_dim
        values = num_heads * self.value_dim
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, values)
        self.output = nn.Linear(values, dim)
        # torch initialises the three input projections as one matrix of 3 dim rows.
        bound = math.sqrt(6.0 / (dim + 3 * dim))
        for projection in (self.query, self.key, self.value):
            nn.init.uniform_(projection.weight, -bound, bound)
        for projection in (self.query, self.value, self.output):
            nn.init.zeros_(projection.bias)

    def forward(
        self,
        query: torch.Tensor,
        tokens: torch.Tensor,
        bias: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Attend with a query [B, D] to tokens [B, D, N], as a convolution has them.

        A bias [B, heads, N] is added to the logits. Gives the output [B, D] and the
        weights [B, heads, N], which sum to 1 over N.
        """
        keys = (self.num_heads, self.head_dim, self.dim)
        values = (self.num_heads, self.value_dim, self.dim)
        scaled = self.query(query) / math.sqrt(self.head_dim)
        split = scaled.view(-1, self.num_heads, self.head_dim).transpose(0, 1)
        folded = torch.matmul(split, self.key.weight.view(keys))  # [heads, B, D]
        logits = torch.bmm(folded.transpose(0, 1), tokens)  # [B, heads, N]
        if bias is not None:
            logits = logits + bias
        weights = torch.softmax(logits, dim=-1)
        mixed = torch.bmm(weights, tokens.transpose(1, 2))  # [B, heads, D]
        value = self.value.weight.view(values).transpose(1, 2)
        attended = torch.matmul(mixed.transpose(0, 1), value)  # [heads, B, value_dim]
        joined = attended.transpose(0, 1).flatten(1) + self.value.bias
        return self.output(joined), weights


class Windows(nn.Module):
    """A soft window on the map for each head, at a place that the body asks for.

    Logits that are linear in the coordinates of a cell are largest at a corner of the
    map: on even ground, a head cannot look at a place inside it. With the square of the
    distance as one more coordinate it can. A head h with centre c and width w adds

        -|p_n - c|^2 / (2 w^2)  =  (c . p_n - |p_n|^2 / 2) / w^2  +  the same for all n

    to the logit of the cell n at p_n, a Gaussian window. The centre is linear in the
    query, so a window can follow a foot. Not in the paper.
    """

    def __init__(
        self,
        query_dim: int,
        num_heads: int,
        width_m: float,
        cell_xy: torch.Tensor,
        unit_m: float,
    ) -> None:
        """Spread the windows over the ground where feet land.

        Places of the cells [2, Y, X] are in units of ``unit_m``; ``width_m`` is the
        standard deviation of the windows at the start.
        """
        super().__init__()
        self.num_heads = num_heads
        self.centre = nn.Linear(query_dim, 2 * num_heads)
        self.log_sharpness = nn.Parameter(
            torch.full((num_heads, 1), 2.0 * math.log(unit_m / width_m))
        )
        # A query of unit spread moves a window by about a tenth of a metre at first.
        bound = 0.1 / unit_m * math.sqrt(3.0 / query_dim)
        with torch.no_grad():
            self.centre.weight.uniform_(-bound, bound)
            self.centre.bias.copy_(places(num_heads).flatten() / unit_m)
        cells = cell_xy.flatten(1)
        paraboloid = -0.5 * cells.square().sum(dim=0, keepdim=True)
        # Follows from the config, so checkpoints do not carry it. [3, Y * X]
        self.cells: torch.Tensor
        self.register_buffer("cells", torch.cat([cells, paraboloid]), persistent=False)

    def forward(self, query: torch.Tensor) -> torch.Tensor:
        """Logits [B, heads, Y * X] of queries [B, query_dim]."""
        centre = self.centre(query).unflatten(1, (self.num_heads, 2))
        one = torch.ones_like(centre[..., :1])
        asked = torch.cat([centre, one], dim=-1) * self.log_sharpness.exp()
        return torch.matmul(asked, self.cells)


def places(num_heads: int) -> torch.Tensor:
    """Where the windows begin [heads, 2], metres: rows of up to 4, symmetric in y."""
    across = max(n for n in (1, 2, 3, 4) if num_heads % n == 0)
    ahead = num_heads // across
    x = torch.linspace(*AHEAD_M, ahead) if ahead > 1 else torch.tensor([AHEAD_M[1] / 2])
    y = (torch.arange(across) - (across - 1) / 2) * ROW_M
    return torch.cartesian_prod(x, y)
