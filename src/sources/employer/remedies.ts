import type { Remedies } from '../source.ts';
import { allNeeded } from './needed-scopes.ts';

/** The account and its tokens are the operator's own, so they can mend it themselves. */
export const remedies: Remedies = {
  tokenRefused: (install) =>
    `Make a new token in the settings of your account at the marketplace, then run gangway connect ${install} --employer (or put it into installs.${install}.token if the install is in the configuration). The old one expired or was revoked, perhaps by a rotation after the backup that the database was restored from`,
  accessRefused:
    'Check the scopes of the token and the rights of your account at the marketplace: its message says which is missing',
  unreachable: 'Check marketplace.employerBaseUrl, and that this machine can reach it',
  scopeMissing: `Make a token with ${allNeeded} in the settings of your account at the marketplace`,
  grantInactive: 'Check whether your account at the marketplace is still open',
  addressesUnshared:
    'Give the token the scopes messages:read and participant_work_email:read. A trainer with no work email yet gets one from the marketplace after their hire',
};
