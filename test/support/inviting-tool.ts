import type { Adapter, Invitation } from '../../src/adapters/adapter.ts';
import { createMemoryTool, type MemoryTool } from './memory-tool.ts';

/** A tool with one link that lets all trainers in. It does not list a trainer before they have used the link. */
export function createSharedLinkTool(): MemoryTool & { link(): string; resets(): number } {
  const tool = createMemoryTool();
  let resets = 0;
  const link = () => `https://tool.example.com/signup/${resets}`;
  const toInvitation = (): Invitation => ({ kind: 'link', url: link(), expiresAt: null });
  const adapter: Adapter = {
    ...tool.adapter,
    capabilities: { ...tool.adapter.capabilities, invitation: 'shared' },
    async addMember(group, { trainerId, email }) {
      tool.calls.push(`invite ${group}/${trainerId}`);
      const invited = { id: `invited:${trainerId}`, email, isInvited: true, isUnlisted: true };
      return { ...invited, invitation: toInvitation() };
    },
    async renewInvitation(group, { id }) {
      tool.calls.push(`renew ${group}/${id}`);
      return toInvitation();
    },
    async resetInvitations() {
      await tool.before('remove', 'link');
      resets += 1;
    },
  };
  return Object.assign(tool, { adapter, link, resets: () => resets });
}

/** A tool that makes a login with the password that it is given, unless the person has one. */
export function createLoginTool(): MemoryTool & { passwords: Map<string, string> } {
  const tool = createMemoryTool();
  const passwords = new Map<string, string>();
  const { addMember } = tool.adapter;
  const adapter: Adapter = {
    ...tool.adapter,
    capabilities: { ...tool.adapter.capabilities, invitation: 'password' },
    findAccount: async ({ trainerId: id, email }) => (passwords.has(id) ? { id, email } : null),
    async addMember(group, person, signal) {
      const { trainerId, email, newPassword = '' } = person;
      const isNew = !passwords.has(trainerId);
      if (isNew) passwords.set(trainerId, newPassword);
      const member = await addMember(group, person, signal);
      const url = 'https://tool.example.com/login';
      return isNew ? { ...member, invitation: { kind: 'password', url, username: email } } : member;
    },
  };
  return Object.assign(tool, { adapter, passwords });
}
