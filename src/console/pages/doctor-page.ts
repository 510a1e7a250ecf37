import { html } from 'hono/html';
import type { OperationContext } from '../../operations/operation.ts';
import { type Act, type Asked, formOf, type Page, type Redirect, type View } from '../page.ts';
import { reportOf } from '../view/checks.ts';

/** The checks of `gangway doctor`: of the configuration, the tools, the marketplace and the database. */
export const doctorViews: readonly View[] = [{ path: '/doctor', show: showDoctor }];

export const doctorActs: readonly Act[] = [{ path: '/doctor', act: examine }];

const patienceMs = 60_000;

function showDoctor(asked: Asked, { reports }: OperationContext): Page {
  const report = reports.get('doctor');
  return {
    title: 'Doctor',
    body: html`
      <p>The doctor asks the tools and the marketplace, looks at the database, and changes nothing.</p>
      ${formOf(asked, '/doctor', html`<button class="main">Look at everything now</button>`)}
      ${
        report === undefined
          ? html`<p class="empty">This instance has not looked since it was started. What it finds appears here.</p>`
          : reportOf('What was found', report)
      }
    `,
  };
}

async function examine({ by }: Asked, ctx: OperationContext): Promise<Redirect> {
  const checks = await ctx.examine(AbortSignal.timeout(patienceMs));
  ctx.reports.set('doctor', { by: by.actor, at: by.at, checks });
  return { redirect: '/doctor' };
}
