import { AppError } from '../../domain/errors.ts';
import type { SourceKind } from '../../domain/source-kind.ts';

/** How the tokens of each kind of account begin (spec: part A section 5, platform-api.md). */
const prefixes: Record<SourceKind, string> = { platform: 'ot_ptk_', employer: 'ot_pat_' };

/**
 * The kind is chosen by the operator, and never by the token: one that is plainly of the other kind is a mistake. A
 * token that begins otherwise is left to the marketplace.
 *
 * @throws AppError `invalid`
 */
export function requireTokenOf(source: SourceKind, token: string): void {
  if (source === 'platform' && token.startsWith(prefixes.employer)) {
    throw new AppError(
      'invalid',
      `This is a personal token (${prefixes.employer}…), of your own account at the marketplace: connect that with --employer, or "source": "employer" in the configuration`,
    );
  }
  if (source === 'employer' && token.startsWith(prefixes.platform)) {
    throw new AppError(
      'invalid',
      `This is a platform token (${prefixes.platform}…), which a customer gives: connect them without --employer; your own account has a personal token (${prefixes.employer}…)`,
    );
  }
}
