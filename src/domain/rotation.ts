/**
 * What is to be done next for a new token: it is made, proven while the old one still counts, and then counts for all
 * while the old one runs dry. The old one is revoked last. `discarding`: the new one is not to be used, and is revoked.
 */
export type RotationStep = 'creating' | 'proving' | 'draining' | 'discarding' | 'settled';
