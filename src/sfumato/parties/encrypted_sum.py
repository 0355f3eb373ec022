"""An encrypted sum: everybody encrypts, a server adds without seeing anything, and a key holder
opens the sums and nothing else.

The scheme is BFV (Fan, Vercauteren 2012) by TenSEAL (extra ``he``): whole numbers, exact. Real
numbers are whole ones in fixed point. Approximate schemes are not offered: what they decrypt
betrays the key by its rounding (Li, Micciancio 2021) unless noise floods it.

Server and key holder must be different parties: **together they see everything**. The server alone
sees ciphertexts; the key holder alone sees the sums, as everybody does in the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.errors import ParameterError, WrongMessage, require
from sfumato.parties.channel import Channel, Phase
from sfumato.parties.question import Cost, Numbers, Summation
from sfumato.parties.sharing import Draw

DEGREE = 8192
"""Of the polynomials: so many numbers a ciphertext, at a security of 128 bits with TenSEAL's usual
moduli.
"""
PLAIN = 1152921504606830593
"""A prime of 60 bits, 1 modulo 16384, so that numbers are packed; sums stay below half of it."""
CIPHERTEXT = 1 << 19
"""Bytes a ciphertext takes on the line: its own length and what fills it up, so that all are alike.
"""
CONTEXT = 1 << 20


class EncryptedSum(Summation):
    """``server`` and ``key_holder`` are numbers of parties, with rows of their own or without."""

    name = "encrypted"

    def __init__(self, server: int = 0, key_holder: int = 1) -> None:
        if server == key_holder:
            raise ParameterError(
                "server and key holder must be different parties: together they see everything"
            )
        self.server = server
        self.key_holder = key_holder

    def fits(self, bound: int) -> bool:
        """Sums below half of the plain modulus."""
        return 2 * bound < PLAIN

    async def total(self, channel: Channel, own: Numbers, bound: int, draw: Draw) -> Numbers:
        """The key to all, ciphertexts to the server, their sum to the key holder, the sums to
        all.
        """
        if not self.fits(bound):
            raise ParameterError(
                "the sums may exceed 2^59, which is the most an encrypted sum can hold; lower the"
                " scale"
            )
        if max(self.server, self.key_holder) >= channel.parties:
            raise ParameterError("server and key holder must be parties of the study")
        seal = require("tenseal", extra="he", to="add encrypted numbers")
        # a new key for every sum: none is kept anywhere
        secret = None
        if channel.number == self.key_holder:
            secret = _new_context(seal)
        public = await self._public(seal, channel, secret)
        cut = [np.asarray(part) for part in np.array_split(np.asarray(own), blocks(len(own)))]
        sealed = [seal.bfv_vector(public, [int(n) for n in part]) for part in cut]
        if channel.before_opening is not None:  # the key holder knows the sums before it tells them
            channel.before_opening(b"")
        added = await self._added(seal, channel, public, sealed)
        return await self._opened(seal, channel, secret, added, [len(part) for part in cut])

    async def _public(self, seal: Any, channel: Channel, secret: Any) -> Any:
        """The public context, from the key holder; one with a secret key in it is refused."""
        if secret is not None:
            # sums need neither rotations nor products, so those keys are not made known
            context_bytes = secret.serialize(
                save_public_key=True,
                save_secret_key=False,
                save_galois_keys=False,
                save_relin_keys=False,
            )
            await channel.exchange(
                Phase.SHARE, dict.fromkeys(channel.others, _fill_up(context_bytes, CONTEXT)), {}
            )
            return seal.context_from(context_bytes)
        arrived = await channel.exchange(Phase.SHARE, {}, {self.key_holder: CONTEXT})
        context = _load_content(seal.context_from, arrived[self.key_holder], self.key_holder)
        if context.is_private():
            raise WrongMessage(self.key_holder, Phase.SHARE.name.lower())
        return context

    async def _added(self, seal: Any, channel: Channel, public: Any, own: list[Any]) -> list[bytes]:
        """At the key holder, the sum of everybody's ciphertexts; elsewhere nothing."""
        length = CIPHERTEXT * len(own)
        if channel.number != self.server:
            message = b"".join(_fill_up(own_vector.serialize(), CIPHERTEXT) for own_vector in own)
            await channel.exchange(Phase.SHARE, {self.server: message}, {})
        else:
            arrived = await channel.exchange(Phase.SHARE, {}, dict.fromkeys(channel.others, length))
            for sender, message in arrived.items():
                own = [
                    own_vector + other_vector
                    for own_vector, other_vector in zip(
                        own, self._read(seal, public, message, sender), strict=True
                    )
                ]
            # a fresh encryption of zeros, so that the sum does not look like anybody's ciphertexts
            # added
            own = [
                own_vector + seal.bfv_vector(public, [0] * own_vector.size()) for own_vector in own
            ]
            message = b"".join(_fill_up(own_vector.serialize(), CIPHERTEXT) for own_vector in own)
            await channel.exchange(Phase.PRODUCTS, {self.key_holder: message}, {})
        if channel.number != self.key_holder:
            return []
        summed = await channel.exchange(Phase.PRODUCTS, {}, {self.server: length})
        return _parts(summed[self.server])

    def _read(self, seal: Any, public: Any, message: bytes, sender: int) -> list[Any]:
        return [
            _load_content(lambda raw: seal.bfv_vector_from(public, raw), part, sender)
            for part in _parts(message)
        ]

    async def _opened(
        self, seal: Any, channel: Channel, secret: Any, added: list[bytes], sizes: list[int]
    ) -> Numbers:
        """The sums, decrypted by the key holder and told to all."""
        payload = b""
        if secret is not None:
            plain = [
                _load_content(
                    lambda raw: seal.bfv_vector_from(secret, raw), part, self.server
                ).decrypt()[:size]
                for part, size in zip(added, sizes, strict=True)
            ]
            payload = np.array([n for part in plain for n in part], dtype="<i8").tobytes()
        # a broadcast in which the others say nothing: what the key holder says then enters the
        # common digest, so that telling parties different sums is noticed
        lengths = {j: 8 * sum(sizes) if j == self.key_holder else 0 for j in channel.others}
        messages = await channel.broadcast(Phase.OPEN, payload, lengths)
        return np.frombuffer(messages[self.key_holder], dtype="<i8").astype(np.int64)

    def cost(self, parties: int, cells: int, bound: int) -> Cost:
        """The key holder's, who sends most: the key to all, its ciphertexts, and the sums."""
        return Cost(
            # the key to all, ciphertexts to the server, the sums to all
            2 * (parties - 1) + 1,
            (parties - 1) * (CONTEXT + 8 * cells) + CIPHERTEXT * blocks(cells),
        )


def blocks(cells: int) -> int:
    """Ciphertexts for so many numbers."""
    return max(1, -(-cells // DEGREE))


def _new_context(seal: Any) -> Any:
    return seal.context(seal.SCHEME_TYPE.BFV, poly_modulus_degree=DEGREE, plain_modulus=PLAIN)


def _fill_up(content: bytes, length: int) -> bytes:
    """Content behind its own length, filled up with zeros."""
    if len(content) + 4 > length:
        raise ParameterError(
            "a ciphertext is larger than expected; install the same version of tenseal everywhere"
        )
    # ciphertexts differ in length, but a channel must know lengths beforehand
    return len(content).to_bytes(4, "big") + content.ljust(length - 4, b"\0")


def _parts(message: bytes) -> list[bytes]:
    return [message[i : i + CIPHERTEXT] for i in range(0, len(message), CIPHERTEXT)]


def _load_content(load: Any, filled: bytes, sender: int) -> Any:
    """What was filled up, read by TenSEAL; whatever it cannot read did not come from one who
    follows the protocol.
    """
    length = int.from_bytes(filled[:4], "big")
    if length > len(filled) - 4:
        raise WrongMessage(sender, Phase.SHARE.name.lower())
    try:
        return load(filled[4 : 4 + length])
    except (RuntimeError, ValueError, TypeError):
        raise WrongMessage(sender, Phase.SHARE.name.lower()) from None
