import type { Remedies } from '../source.ts';
import { allNeeded } from './needed-scopes.ts';

/** The account and its tokens are the operator's own, so they can mend it themselves. */
export const remedies: Remedies = {
  tokenRefused: (install) =>
    `its token is not good (any more): it expired, or was revoked, as after a rotation if the database comes from a backup from before; make another one in the settings of your account at the marketplace, and hand it to: gangway connect ${install} --employer (or put it into installs.${install}.token, where the configuration has the install)`,
  accessRefused:
    'what the token may do, or what your account at the marketplace may do, does not include this: the message of the marketplace says which',
  unreachable: 'check marketplace.employerBaseUrl, and that this machine can reach it',
  scopeMissing: `make a token with ${allNeeded} in the settings of your account at the marketplace`,
  grantInactive: 'see whether your account at the marketplace is still open',
  addressesUnshared:
    'give the token the scopes messages:read and participant_work_email:read; a trainer who has no work address yet gets one from the marketplace after their hire',
};
