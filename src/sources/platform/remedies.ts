import type { Remedies } from '../source.ts';

/** A platform's token and its scopes are the customer's to give, so the customer has to be asked. */
export const remedies: Remedies = {
  tokenRefused: (install) => `Ask the customer for a new token, then run gangway connect ${install}`,
  accessRefused:
    "Ask the customer, then the marketplace: the install, your app or the feature of the customer's account is not active",
  unreachable: 'Check marketplace.baseUrl, and that this machine can reach it',
  scopeMissing: 'Have the customer connect again and grant it',
  grantInactive: 'Ask the customer to reconnect. Otherwise their people are removed after a grace period',
  addressesUnshared:
    'Ask the customer to consent to sharing personal data, in the settings of the connection at the marketplace',
};
