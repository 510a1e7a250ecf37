import type { Adapter } from '../../../src/adapters/adapter.ts';
import { openFakeLabelStudio } from '../label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../label-studio/label-studio-harness.ts';
import { hasAddressOf, type OpenWatchedTool } from './watched-tool.ts';

const organization = '1';
const password = 'Chosen-by-themselves-7';

/** A Label Studio with its one organization; a person who is mailed a link signs up by it. */
export const openWatchedLabelStudio: OpenWatchedTool = async ({ onboarding = 'sign_up' }) => {
  const fake = await openFakeLabelStudio();
  const { users } = fake;
  return {
    adapter: withoutWork(createLabelStudio(fake, { onboarding })),
    groupOf: () => organization,
    watch: (listener) => {
      fake.watch = listener;
    },
    seed({ name, email, isActive }) {
      // The operator is who has set it up.
      if (name === 'operator') return [String(users.ownerId)];
      const user = users.add(email, 'Password-of-their-own-3');
      if (!isActive) users.endMembership(user);
      return [String(user.id)];
    },
    standing: () => ({
      accounts: new Map(
        users.all().map(({ id, email, username, password: kept, isDeleted }) => {
          return [String(id), { email, rest: JSON.stringify({ username, kept, isDeleted }) }];
        }),
      ),
      members: new Map([
        [
          organization,
          users
            .all()
            .filter(({ isDeleted }) => !isDeleted)
            .map(({ id }) => String(id)),
        ],
      ]),
    }),
    isAccountOf: (person, _account, state) => hasAddressOf(person, state),
    async accept({ to: [address = ''], text }) {
      const [link] = /http:\/\/127\.0\.0\.1:\d+\/user\/signup\/\S+/.exec(text) ?? [];
      if (link !== undefined) await fake.signUp(link, address, password);
    },
  };
};

/** Work is read before a removal, and for minutes where that fails: that is another story. */
function withoutWork({ readUsage: _, usageScopeFor: __, ...adapter }: Adapter): Adapter {
  const { usage: ___, ...capabilities } = adapter.capabilities;
  return { ...adapter, capabilities };
}
