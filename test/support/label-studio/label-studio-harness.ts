import type { Adapter, Person } from '../../../src/adapters/adapter.ts';
import type { ConformanceHarness } from '../../../src/adapters/conformance/harness.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import type { LabelStudioSite } from './label-studio-client.ts';

/** What the suite needs of a Label Studio, whether it is a real one or a fake. */
export function toHarness(
  site: LabelStudioSite,
  onboarding: 'sign_up' | 'invite_link',
  settings: Record<string, unknown> = {},
): ConformanceHarness {
  return {
    adapter: createLabelStudio(site, { onboarding, ...settings }),
    groups: ['1'],
    person,
    hasEveryGroup: false,
    crowd: 7,
    async seed(_group, { email }) {
      // By the API: an account without a password, but with a membership.
      await site.api('POST', '/api/users/', { username: email, email });
    },
    async accept({ email }, { invitation }) {
      if (invitation?.kind !== 'link') throw new Error('no link to follow');
      const session = await site.signUp(invitation.url, email, password);
      if (session === null) throw invalid;
    },
  };
}

/** The form says no, as it may to an odd address. */
const invalid = Object.assign(new Error('the form refuses them'), { code: 'invalid' });

const password = 'Trainer-password-7';

export function person(index: number): Person {
  return {
    trainerId: `cmu${index}`,
    email: `trainer.${index}@opentrain.work`,
    memberId: null,
    displayName: `Trainer ${index}`,
    newPassword: password,
  };
}

export function createLabelStudio(
  { url, owner }: Pick<LabelStudioSite, 'url' | 'owner'>,
  settings: Record<string, unknown> = {},
): Adapter {
  const usual = { url, token: owner.legacyToken, offboarding: 'delete_user' };
  return createAdapter('studio', 'label-studio', { ...usual, ...settings });
}
