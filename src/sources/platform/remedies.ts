import type { Remedies } from '../source.ts';

/** A platform's token and its scopes are the customer's to give, so the customer has to be asked. */
export const remedies: Remedies = {
  tokenRefused: (install) =>
    `its token is not good (any more): let the customer connect again, and hand their new token to: gangway connect ${install}`,
  accessRefused:
    'the install, your app at the marketplace or the feature of the account of the customer is not active (any more): ask the customer, then the marketplace',
  unreachable: 'check marketplace.baseUrl, and that this machine can reach it',
  scopeMissing: 'let the customer connect again, and consent to that',
  grantInactive: 'ask the customer: without a connection their people are taken out in time',
  addressesUnshared:
    'ask them to consent to sharing personal data, in the settings of the connection at the marketplace',
};
