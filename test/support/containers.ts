import { setTimeout as sleep } from 'node:timers/promises';
import { findEngine } from '../../tools/database/docker.mjs';
import { run } from '../../tools/support/processes.mjs';
import { TEST_SECRET } from './service.js';

const COMMAND_MS = 600_000;

/** What `docker compose up` requires. */
export const SECRETS = {
  JWT_SECRET: TEST_SECRET,
  DATABASE_PASSWORD: 'the+service/of=a_test',
  DATABASE_MIGRATIONS_PASSWORD: 'the.migrations-of-a-test',
  DATABASE_ROOT_PASSWORD: 'the-root-of-a-test',
};

/** Whether a Docker engine answers, on Linux, where a test can reach the network of containers. */
export async function hasContainers(): Promise<boolean> {
  return process.platform === 'linux' && 'version' in (await findEngine());
}

/** The Docker engine, with the image of the service. */
export class Containers {
  /** Builds the image from `Dockerfile`. */
  static async start(): Promise<Containers> {
    const containers = new Containers();
    await containers.docker(['build', '--quiet', '--network=host', '--tag', 'cashback-order-service', '.']);
    return containers;
  }

  /** Runs `docker` with these arguments. @returns its output. @throws if it fails. */
  async docker(args: string[], env: Record<string, string> = {}): Promise<string> {
    const { ok, output } = await run('docker', args, { env: { ...process.env, ...env }, timeoutMs: COMMAND_MS });
    if (!ok) throw new Error(`docker ${args.join(' ')} failed:\n${output}`);
    return output.trim();
  }
}

/** A Compose project of the test, whose name no other one has. */
export class Compose {
  readonly url: string;
  readonly #files: string[];
  readonly #name = `cashback-test-${process.pid}`;

  /** @param port where the service is published on 127.0.0.1 */
  constructor(
    private readonly containers: Containers,
    private readonly port: number,
    files: string[],
  ) {
    this.#files = files.flatMap((file) => ['--file', file]);
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Runs `docker compose` without any secret. */
  run(...args: string[]): Promise<string> {
    return this.#compose(args, {});
  }

  /** Starts everything, and waits until the service answers. */
  async up(): Promise<void> {
    const env = { ...SECRETS, RATE_LIMIT: '0', BCRYPT_COST: '10', LOG_LEVEL: 'error' };
    // Outside a test, this fails only if a one-shot container fails.
    await this.#compose(['up', '--detach', '--no-build'], env);
    await this.untilReady();
  }

  async untilReady(): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      const ready = await fetch(`${this.url}/health/live`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (ready) return;
      await sleep(200);
    }
    throw new Error(`the service did not become ready:\n${await this.run('logs', '--tail=30')}`);
  }

  /** The ID of the only container, or of one of the containers, of a service. */
  async idOf(service: string): Promise<string> {
    return (await this.run('ps', '--all', '--quiet', service)).split('\n')[0]!;
  }

  /** The URL by which this machine reaches the database through a container, as the user of the service. */
  async databaseUrl(service: string): Promise<string> {
    const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
    const address = await this.containers.docker(['inspect', '--format', format, await this.idOf(service)]);
    return `mysql://cashback:${encodeURIComponent(SECRETS.DATABASE_PASSWORD)}@${address}:3306/cashback`;
  }

  down(): Promise<string> {
    return this.run('down', '--volumes', '--timeout=5');
  }

  #compose(args: string[], env: Record<string, string>): Promise<string> {
    const options = ['compose', '--project-name', this.#name, '--env-file', '/dev/null', ...this.#files];
    return this.containers.docker([...options, ...args], { PORT: String(this.port), ...env });
  }
}
