// @ts-check
import { existsSync } from 'node:fs';
import { run, tail } from '../support/processes.mjs';

/**
 * The server programs, without a system service: MariaDB on Debian, either of them on Ubuntu. MariaDB's script that
 * initializes a data folder needs a program from the client package.
 */
const CHOICES = [['mariadb-server-core', 'mariadb-client-core'], ['mysql-server-core'], ['mysql-server-core-8.0']];

/** Whether packages can be installed without a password. */
export function canInstallPackages() {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

/**
 * Installs a database server from the distribution's packages.
 *
 * @param {(line: string) => void} say
 * @returns {Promise<{ installed: string } | { reason: string }>} `reason` ends with the output of apt
 */
export async function installServer(say) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  say('Running apt-get update');
  // An unrelated package source may be broken, so a failure is not fatal here. The installation shows whether it matters.
  const update = await run('apt-get', ['-q', 'update'], { timeoutMs: 180_000, env });
  let log = update.ok ? '' : `apt-get update: ${tail(update.output, 5)}\n`;
  for (const packages of CHOICES) {
    const names = packages.join(' ');
    say(`Running apt-get install --no-install-recommends ${names}`);
    const options = ['-q', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
    const { ok, output } = await run('apt-get', ['install', ...options, ...packages], { timeoutMs: 600_000, env });
    if (ok) return { installed: names };
    log += `apt-get install ${names}: ${tail(output, 5)}\n`;
  }
  return { reason: `apt-get could not install a server:\n${log.trimEnd()}` };
}
