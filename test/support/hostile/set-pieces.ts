import { bystanders, colluders, honestTrainers, managed } from './cast.ts';
import type { Forged } from './forged-event.ts';

/**
 * Sequences that did harm once, or were made to: each a line of moves, of which one is made in every
 * step of the story, so that what the first led to is done before the second comes.
 */
export function setPieces(): Forged[][] {
  const [colluder, managedColluder] = colluders;
  const emailOf = (name: string) => bystanders.find((one) => one.name === name)?.email ?? '';
  const early = honestTrainers[0] ?? { trainerId: '', email: '' };
  const late = honestTrainers[5] ?? early;
  const hire = (key: string, trainer: string, email: string, project = 'a-1'): Forged => ({
    type: 'contract.started',
    contract: `ctr-${key}`,
    trainer,
    email,
    project,
  });
  const end = (started: Forged): Forged => ({ ...started, type: 'contract.ended' });
  const hireAndEnd = (key: string, trainer: string, email: string, project?: string) => {
    const started = hire(key, trainer, email, project);
    return [started, end(started)];
  };
  const rename = (key: string, from: string, to: string) => {
    const trainer = `usr-${key}`;
    const renamed = hire(key, trainer, to);
    return [hire(key, trainer, from), renamed, end(renamed)];
  };
  return [
    hireAndEnd('admin', 'usr-p1', emailOf('admin')),
    hireAndEnd('operator', 'usr-p2', emailOf('operator')),
    hireAndEnd('former', 'usr-p3', emailOf('former')),
    hireAndEnd('employee', 'usr-p4', emailOf('employee')),
    hireAndEnd('colleague', 'usr-p5', emailOf('colleague')),
    hireAndEnd('managed', managed.name, managed.email),
    hireAndEnd('managed-too', 'usr-p6', managed.email.toUpperCase(), 'a-2'),
    rename('taken', emailOf('chief'), 'taken.over@evil.example'),
    rename('wanted', 'usr-wanted@opentrain.work', emailOf('employee')),
    rename('crossed', early.email, managedColluder),
    // Before the honest customer hires them, and after.
    hireAndEnd('late', late.trainerId, colluder),
    hireAndEnd('late-too', honestTrainers[6]?.trainerId ?? '', managedColluder, 'a-2'),
    hireAndEnd('early', early.trainerId, colluder),
    hireAndEnd('early-too', 'usr-p7', early.email, 'a-2'),
    hireAndEnd('dots', 'usr-p8', colluder, 'a-/../b-1'),
    hireAndEnd('case', 'usr-p9', managedColluder, 'B-1'),
    hireAndEnd('wide', 'usr-p9', managedColluder, '\uff42-1'),
    hireAndEnd('space', 'usr-p9', managedColluder, ' b-1'),
  ];
}
