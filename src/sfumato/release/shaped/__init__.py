"""Releases of people who are no table: read, made, judged, tried, written and verified alike, whatever their shape.

Nothing here knows a shape: what differs is asked of the noun (:class:`~sfumato.core.shape.Data`), and of the promises, means,
attacks and metrics that the registry has for it.
"""
