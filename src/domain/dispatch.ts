/** How far a notice has come in one channel; `failed` is the end of it too. */
export const dispatchStates = ['waiting', 'sent', 'failed'] as const;

export type DispatchState = (typeof dispatchStates)[number];
