import type { ConformanceHarness } from '../../../src/adapters/conformance/harness.ts';
import { openFakeLabelStudio } from './fake-label-studio.ts';
import { person, toHarness } from './label-studio-harness.ts';

/** A fake one with the suite's faults; a link leads past them, so there they are left out. */
export async function openFakeHarness(onboarding: 'sign_up' | 'invite_link'): Promise<ConformanceHarness> {
  const fake = await openFakeLabelStudio();
  const harness = toHarness(fake, onboarding, { token: await fake.personalToken() });
  const secrets = [...fake.faults.secrets, person(0).newPassword ?? ''];
  const faults = { ...fake.faults, secrets };
  const giveOut = async (id: string, email: string) => fake.users.giveOut(Number(id), email);
  return { ...harness, timeoutMs: 5000, giveOut, ...(onboarding === 'sign_up' && { faults }) };
}
