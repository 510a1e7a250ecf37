/** A command has said all it has to say, and how it ended. */
export class Ending extends Error {
  readonly status: EndStatus;

  constructor(status: EndStatus) {
    super(`ended with ${status}`);
    this.name = 'Ending';
    this.status = status;
  }
}

/** Beside 0: something failed, something is to be done, something waits for a decision. */
export type EndStatus = 1 | 2 | 3;

/** Ends a command with a status of its own; what it printed stands. */
export function endWith(status: 0 | EndStatus): void {
  if (status !== 0) throw new Ending(status);
}
