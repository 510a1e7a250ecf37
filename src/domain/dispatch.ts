/** How far a notice has come in one channel. `failed` is final too. */
export const dispatchStates = ['waiting', 'sent', 'failed'] as const;

export type DispatchState = (typeof dispatchStates)[number];
