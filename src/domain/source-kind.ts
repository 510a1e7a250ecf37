/** `platform`: a platform that a customer has installed. `employer`: an employer's own account. */
export const sourceKinds = ['platform', 'employer'] as const;

export type SourceKind = (typeof sourceKinds)[number];
