import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeTempFolder, run } from '../../tools/support/processes.mjs';
import { Config } from '../../src/platform/config/config.js';
import { describeIf } from '../support/requirements.js';
import { valuesIn } from '../support/units.js';

const hasSystemd = spawnSync('systemd-analyze', ['--version']).error === undefined;
const describeWithSystemd = describeIf(hasSystemd, 'Units for systemd, because systemd-analyze is missing');

const UNITS = readdirSync('ops').filter((file) => /\.(service|timer)$/.test(file));

describeWithSystemd('the units for systemd', () => {
  let folder: string;
  beforeAll(() => {
    folder = makeTempFolder('cashback-units');
    // Other machines have these programs elsewhere, and systemd checks that they exist. A template gets an instance.
    for (const unit of UNITS) {
      const text = readFileSync(path.join('ops', unit), 'utf8').replaceAll(
        /\/usr\/s?bin\/(node|haproxy)/g,
        process.execPath,
      );
      writeFileSync(path.join(folder, unit.replace('@.', '@3001.')), text);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(UNITS)('ops/%s has no unknown setting and no invalid value', async (unit) => {
    const file = path.join(folder, unit.replace('@.', '@3001.'));
    expect(await run('systemd-analyze', ['verify', file])).toEqual({ ok: true, output: '' });
  });
});

describe('the unit of the service', () => {
  it('systemd kills an instance only after the longest default shutdown', () => {
    const [seconds] = valuesIn('ops/cashback-order-service@.service', 'TimeoutStopSec');
    expect(Number(seconds)).toBeGreaterThan(new Config().SHUTDOWN_DELAY_SECONDS + 10);
  });

  it('an instance has the threads that the image has', () => {
    const [, threads] = /^ENV (UV_THREADPOOL_SIZE=\d+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(valuesIn('ops/cashback-order-service@.service', 'Environment')[0]?.split(' ')).toContain(threads);
  });
});
