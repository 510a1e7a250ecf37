import { describe, expect, it } from 'vitest';
import { guidelineTools, openGuidelineJourney } from '../../support/guidelines/guideline-journey.ts';
import { describeAnyDialect } from '../../support/tries.ts';

describeAnyDialect('the manual of a job', (dialect) => {
  describe.each(guidelineTools)('in %s', (_, openTool) => {
    const open = async (options?: Parameters<typeof openGuidelineJourney>[2]) =>
      await openGuidelineJourney(dialect, await openTool(), options);

    it('is shown to trainers once it is published, and again when it is published anew', async () => {
      const { signs, lamps, tool, write, follow, storage } = await open();
      const manual = write('Mark every sign.', signs.id);
      await follow();
      expect(await tool.read(signs.project)).toBe('');
      manual.publish();
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      expect(await tool.read(lamps.project)).toBe('');
      manual.edit('Mark every whole sign.');
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      manual.publish();
      await follow();
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every whole sign.']);
      const acts = storage.database.kysely.selectFrom('audit').selectAll().where('action', '=', 'guidelines sync');
      expect(await acts.orderBy('id').execute()).toMatchObject([
        { actor: 'gangway', origin: 'schedule', before: null, after: `publication 1 of the manual ${manual.id}` },
        { after: `publication 2 of the manual ${manual.id}` },
      ]);
    });

    it('is not written over what was edited in the tool, unless an operator says so', async () => {
      const { signs, tool, write, follow, stateOf, api, log } = await open();
      const manual = write('Mark every sign.', signs.id);
      manual.publish();
      await follow();
      await tool.edit(signs.project, 'Ask Ben.');
      manual.edit('Mark every whole sign.');
      manual.publish();
      await follow();
      await follow();
      expect(await tool.read(signs.project)).toBe('Ask Ben.');
      expect(await stateOf(signs.project)).toMatchObject({ state: 'edited' });
      expect(log.lines().some(({ alert }) => alert === 'guideline_unwritten')).toBe(true);
      const { attention } = await api.ask('getStatus');
      expect(JSON.stringify(attention)).toContain('guidelines sync --project');
      await api.ask('syncGuidelines', { body: {} });
      expect(await tool.read(signs.project)).toBe('Ask Ben.');
      await api.ask('syncGuidelines', { body: { overwrite: true } });
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every whole sign.']);
      expect(await stateOf(signs.project)).toEqual({ state: 'shown', says: null });
    });

    it('is not written over a text that was there before', async () => {
      const { signs, tool, write, follow, stateOf } = await open();
      await tool.edit(signs.project, 'Ask Ben.');
      write('Mark every sign.', signs.id).publish();
      await follow();
      expect(await tool.read(signs.project)).toBe('Ask Ben.');
      expect(await stateOf(signs.project)).toMatchObject({ state: 'foreign' });
    });

    it('stays in the tool, whatever the marketplace answers or no longer has', async () => {
      const { sandbox, accountId, signs, tool, write, follow } = await open();
      write('Mark every sign.', signs.id).publish();
      await follow();
      const operations = ['GET /instructions/workspaces', 'GET /instructions/workspaces/{id}/manuals'];
      for (const answer of ['forbidden', 'serverError', 'cutOff', 'empty', 'notJson'] as const) {
        sandbox.setFaults(accountId, { [answer]: { probability: 1, operations } });
        await follow();
        expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      }
      sandbox.setFaults(accountId);
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
    });

    it('of two that are bound to one job, the one with the lower precedence is shown', async () => {
      const { signs, tool, write, follow } = await open();
      write('Mark no sign.', signs.id, 7).publish();
      write('Mark every sign.', signs.id, 3).publish();
      write('Mark two signs.', signs.id, 1);
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
    });
  });
});
