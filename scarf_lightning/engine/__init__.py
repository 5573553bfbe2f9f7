"""The only room that knows the trial axis: plain networks, pretexts and losses become stacks that train at once."""
