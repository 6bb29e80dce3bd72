import { rmSync } from 'node:fs';
import path from 'node:path';
import { type PrivateServer, startPrivateServer } from '../../tools/database/private-server.mjs';
import { findServers } from '../../tools/database/server-binary.mjs';
import { makeTempFolder } from '../../tools/support/processes.mjs';

/** The servers of this machine. Only one of a test alone may be killed, paused or configured, never that of the run. */
export const servers = await findServers();

type Settings = Omit<Parameters<typeof startPrivateServer>[0], 'dataDir' | 'litter' | 'port'>;

/** A database server of a test alone, in a folder that the test may use too. */
export class OwnServer {
  readonly folder = makeTempFolder('cashback-server');
  #running: PrivateServer | undefined;
  #settings: Settings = {};

  /** Starts it, or starts it again with the same settings and at the same port. */
  async start(settings = this.#settings): Promise<void> {
    this.#settings = settings;
    const port = this.#running && { port: this.#running.port };
    const folders = { dataDir: path.join(this.folder, 'data'), litter: this.folder };
    this.#running = await startPrivateServer({ ...settings, ...folders, ...port });
  }

  /** With the scheme `mariadb` or `mysql`. */
  get url(): string {
    return this.#running!.url;
  }

  kill(): Promise<void> {
    return this.#running!.kill();
  }

  /** Connections stay open, and nothing is answered. */
  pause(): Promise<void> {
    return this.#running!.pause();
  }

  resume(): void {
    this.#running?.resume();
  }

  /** Stops it and removes its folder. */
  async stop(): Promise<void> {
    await this.#running?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
