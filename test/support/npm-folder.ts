import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** A temporary folder for tools of callers, which the project itself does not need. */
export class NpmFolder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'cashback-npm-'));

  /** Runs a program in the folder. @returns its output */
  async run(program: string, ...args: string[]): Promise<string> {
    // Some would report their use.
    const env = { ...process.env, DO_NOT_TRACK: '1', KUBB_DISABLE_TELEMETRY: '1', SCARF_ANALYTICS: 'false' };
    const { stdout } = await promisify(execFile)(program, args, { cwd: this.path, env, maxBuffer: 2 ** 26 }).catch(
      ({ stdout, stderr }: { stdout: string; stderr: string }) => {
        throw new Error(`${[program, ...args].join(' ')} failed:\n${stdout}${stderr}`);
      },
    );
    return stdout;
  }

  /** Installs exact versions, such as `orval@7.13.2`. They may name peers that exclude each other. */
  async install(...packages: string[]): Promise<void> {
    this.write('package.json', '{ "private": true, "type": "module" }');
    await this.run('npm', 'install', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', ...packages);
  }

  write(name: string, content: string): void {
    writeFileSync(path.join(this.path, name), content);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
