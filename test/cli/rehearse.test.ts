import { expect, it } from 'vitest';
import { rehearse } from '../../src/cli/doctor-command.ts';
import { createSharedLinkTool } from '../support/inviting-tool.ts';

const { signal } = new AbortController();
const rehearsal = { tool: 'studio', group: 'signs', emailDomain: 'example.com' };

it('looks for no member where the person would only get an invitation', async () => {
  const tool = createSharedLinkTool();
  const check = await rehearse({ ...rehearsal, adapter: tool.adapter }, signal);
  expect(check).toMatchObject({
    status: 'ok',
    says: expect.stringContaining('would be invited to signs'),
  });
  expect(tool.resets()).toBe(0);
});
