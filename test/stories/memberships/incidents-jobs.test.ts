import { expect, it } from 'vitest';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, hours, type Listing, minutes } from '../../support/incident.ts';

/** One job leads to each link. */
const links = { cml1: 'signs', cml2: 'lamps' };
const both: Listing = {
  links,
  active: {
    cmc1: { links: ['cml1'], people: ['cmu1'] },
    cmc2: { links: ['cml2'], people: ['cmu2'] },
  },
};
/** The job behind the first link is refused. */
const half: Listing = { links, unread: ['cml1'], active: { cmc2: { links: ['cml2'], people: ['cmu2'] } } };

describeEachDatabase('a job that the marketplace refuses', (openFresh) => {
  it('has no member removed, however long it lasts, and is alerted', async () => {
    const incident = createIncident(await openFresh());
    await incident.read(both);
    await incident.settle();
    for (let count = 0; count < 4; count += 1) {
      await incident.pass(12 * hours);
      await incident.read(half);
    }
    await incident.pass(15 * minutes);
    expect([incident.tool.members('signs'), incident.tool.members('lamps')]).toEqual([['cmu1'], ['cmu2']]);
    expect([await incident.removals(), await incident.alerts('job_unread')]).toEqual([[], 4]);
  });

  it('hides no end at another job, and gives access again once it answers', async () => {
    const incident = createIncident(await openFresh());
    await incident.read({ links, unread: ['cml1'], active: half.active ?? {} });
    await incident.settle();
    expect([incident.tool.members('signs'), incident.tool.members('lamps')]).toEqual([[], ['cmu2']]);
    await incident.pass(2 * hours);
    await incident.read({ links, unread: ['cml1'], ended: half.active ?? {} });
    await incident.pass(minutes);
    expect(incident.tool.members('lamps')).toEqual([]);
    await incident.read({ links, active: { cmc1: { links: ['cml1'], people: ['cmu1'] } } });
    await incident.settle();
    expect(incident.tool.members('signs')).toEqual(['cmu1']);
  });
});
