import { AppError, type ErrorCode } from '../domain/errors.ts';

/** An error of which the platform API says more than a sentence, in the `details` of its envelope. */
export class Refusal extends AppError {
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown>) {
    super(code, message);
    this.details = details;
  }
}
