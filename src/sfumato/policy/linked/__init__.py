"""Linked data: DPV and ODRL as JSON-LD."""
