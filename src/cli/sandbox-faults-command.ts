import type { Command } from 'commander';
import { AppError } from '../domain/errors.ts';
import type { FaultsInForce } from '../sandbox/fault-control.ts';
import type { Fault, Faults } from '../sandbox/faults/faults-schema.ts';
import type { Snapshot } from '../sandbox/snapshot.ts';
import { ask, createControlCommand, type Report } from './sandbox-control.ts';
import { addFaultOptions, type FaultOptions, toFaults } from './sandbox-fault-options.ts';
import type { Terminal } from './terminal.ts';

interface FaultsOptions extends FaultOptions {
  install?: string;
  clear?: true;
}

export function createFaultsCommand(terminal: Terminal): Command {
  const command = createControlCommand<FaultsOptions>(terminal, 'faults', async (options) => {
    const faults = toFaults(options);
    if (faults !== undefined && options.clear) {
      throw new AppError('invalid', '--clear goes without faults: they replace what was set');
    }
    if (faults === undefined && !options.clear) return showFaults(terminal, options.url);
    const body = { installId: options.install, faults };
    const value = await ask<FaultsInForce>(terminal, options.url, '/faults', body);
    return { value, lines: [describeFaults(value.installId, value.faults)] };
  })
    .description('have things go wrong from now on, or show what did')
    .option('--install <id>', 'for this install alone (default: all)')
    .option('--clear', 'have nothing go wrong any more');
  return addFaultOptions(command);
}

async function showFaults(terminal: Terminal, url: string): Promise<Report> {
  const { faults } = await ask<Snapshot>(terminal, url, '/state');
  const happened = faults.happened.map(
    ({ fault, installId, deliveryId, operation }) => `  ${fault}  ${deliveryId ?? operation}  ${installId}`,
  );
  const lines = [
    describeFaults(null, faults.everybody),
    ...Object.entries(faults.installs).map(([id, ofInstall]) => describeFaults(id, ofInstall)),
    happened.length === 0 ? 'Happened: none' : 'Happened, oldest first:',
    ...happened,
  ];
  return { value: faults, lines };
}

function describeFaults(installId: string | null, faults: Faults): string {
  const who = installId === null ? 'All installs' : `Install ${installId}`;
  const all: [string, Fault | undefined][] = Object.entries(faults);
  const described = all.flatMap(([kind, fault]) => (fault ? [describeFault(kind, fault)] : []));
  return `${who}: ${described.join(', ') || 'no faults'}`;
}

function describeFault(kind: string, { probability, ...rest }: Fault): string {
  const more = Object.entries(rest).map(([name, value]) => ` (${name} ${value})`);
  return [kind, ' ', probability, ...more].join('');
}
