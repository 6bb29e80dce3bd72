import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

/** 10,000,000 take an hour, 16 GB of memory and 50 GB of disk. */
const ORDERS = process.env.ENDURANCE_ORDERS ?? '1000000';

interface Results {
  large: { times: { step: string; refused: number }[]; others: { asked: number } };
}

it('a merchant with a million orders and credits gets every report and list while tills sell, and its sums are those of its orders', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'large-merchant-'));
  try {
    const json = path.join(folder, 'results.json');
    const args = ['large', '--no-build', '--orders', ORDERS, '--rounds', '1', '--seconds', '3', '--json', json];
    // It fails if something is refused that is not documented, or if a sum is wrong.
    const { stdout } = await promisify(execFile)(process.execPath, ['bench/bench.mjs', ...args]);
    process.stdout.write(stdout);
    const { large } = JSON.parse(await readFile(json, 'utf8')) as Results;
    expect(large.times.length).toBeGreaterThan(50);
    expect(large.times.filter(({ refused }) => refused > 0).map(({ step }) => step)).toEqual(
      Number(ORDERS) > 3_000_000 ? ['frequent of the busy day', 'customers of the busy day'] : [],
    );
    expect(large.others.asked).toBeGreaterThan(10);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 7_200_000);
