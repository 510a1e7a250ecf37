import { credentialContext, invitationContext } from '../../src/db/seal-contexts.ts';
import type { InvitationContent } from '../../src/domain/invitation.ts';
import type { Engine } from './engine-harness.ts';

/** Writes for each membership what a tool would have given for logging in, and a password that was never used. */
export async function inviteAll({ database: { kysely }, box }: Engine): Promise<void> {
  const createdAt = '2026-03-15T12:00:00.000Z';
  const content: InvitationContent = { kind: 'link', url: 'https://tool.example.com/signup/1' };
  const memberships = await kysely.selectFrom('membership').select(['id', 'generation']).execute();
  for (const { id: membershipId, generation } of memberships) {
    const sealed = box.seal(Buffer.from(JSON.stringify(content)), invitationContext({ membershipId }));
    await kysely
      .insertInto('invitation')
      .values({ membershipId, kind: 'link', content: sealed, createdAt, nextAttemptAt: createdAt })
      .execute();
    const context = credentialContext({ membershipId, generation });
    const credential = box.seal(Buffer.from('made-up'), context);
    await kysely
      .insertInto('intent')
      .values({ membershipId, generation, operation: 'add', wasFound: false, createdAt, credential })
      .execute();
  }
}
