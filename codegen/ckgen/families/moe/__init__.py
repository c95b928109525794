"""Mixture of experts: layers, and their gate_up and down products, over tokens that are routed to experts."""
