/** How soon a bridge in a test's own process sees what it was not woken for. */
export const pollMs = 100;
