import { expect, it } from 'vitest';
import { openJourney } from '../../support/journey.ts';
import { addProject } from '../../support/label-studio/at-work.ts';
import { openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../../support/label-studio/label-studio-harness.ts';
import { describeAnyDialect } from '../../support/tries.ts';

describeAnyDialect('a link that every member can read', (dialect) => {
  it.each(['sign_up', 'invite_link'])(
    'is worthless to a trainer who read it while they were removed (%s)',
    async (onboarding) => {
      const fake = await openFakeLabelStudio();
      const adapter = createLabelStudio(fake, { onboarding });
      const journey = await openJourney(dialect, { adapter });
      const { sandbox, customer } = journey;
      const project = await addProject(fake, 'Street signs', 1);
      await customer.link(String(project.id));
      const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
      await journey.quiet();
      const email = trainers[0]?.workEmail ?? '';
      const linkOf = (token: string) => `${fake.url}/user/signup/?token=${token}`;
      const password = 'Lantern-44-heron';
      if (onboarding === 'invite_link') await fake.signUp(linkOf(fake.users.inviteToken()), email, password);
      const { id } = fake.users.byEmail(email) ?? { id: 0 };

      let read = '';
      fake.onceBefore(`DELETE /api/users/${id}/`, () => {
        read = fake.users.inviteToken();
      });
      sandbox.endContract(contractId);
      await journey.quiet();
      expect(await journey.receipts()).toContain('remove removed');
      expect(read).not.toBe('');
      expect(await fake.signUp(linkOf(read), email, password)).toBeNull();
    },
  );
});
