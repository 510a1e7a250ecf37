import type { Storage } from '../../keys/storage.ts';

/** What one second, or one label, of a contract is paid, as far as its budget says. */
export interface Rate {
  unit: 'seconds' | 'labels';
  usd: number;
}

/** By contract. The marketplace counts paid time in hours. */
export async function loadRates(ctx: Storage, install: string): Promise<Map<string, Rate>> {
  const rows = await ctx.database.kysely
    .selectFrom('budget')
    .select(['contractId', 'paymentType', 'fundedVolume', 'fundedAmountUsd'])
    .where('install', '=', install)
    .where('fundedVolume', '>', 0)
    .where('fundedAmountUsd', '>', 0)
    .execute();
  return new Map(
    rows.flatMap(({ contractId, paymentType, fundedVolume, fundedAmountUsd }): [string, Rate][] => {
      const usd = Number(fundedAmountUsd) / Number(fundedVolume);
      if (paymentType === 'PAY_PER_HOUR') return [[contractId, { unit: 'seconds', usd: usd / 3600 }]];
      return paymentType === 'PAY_PER_LABEL' ? [[contractId, { unit: 'labels', usd }]] : [];
    }),
  );
}
