import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { isUnavailable } from './errors.js';
import { UnitOfWork } from './unit-of-work.js';

/** A database is a sandbox or live for good: nobody moves the clock of a live merchant by a wrong variable. */
@Injectable()
export class DatabaseKind implements OnModuleInit {
  #isKnown = false;

  constructor(
    private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** A live service also starts without its migrations and on a read-only server. It is not ready then. */
  async onModuleInit(): Promise<void> {
    try {
      await this.check();
    } catch (error) {
      if (isUnavailable(error) && !this.config.SANDBOX) return;
      // Nothing closes an application that did not start.
      await this.dataSource.destroy();
      throw error;
    }
  }

  /** @throws Error if the database is of the other kind. The first start decides it. */
  async check(): Promise<void> {
    if (this.#isKnown) return;
    const kind = this.config.SANDBOX ? 'sandbox' : 'live';
    const found = (await this.#read()) ?? (await this.#write(kind));
    if (found !== kind) {
      const right = found === 'sandbox' ? 'start the service with SANDBOX=true' : 'start the service without SANDBOX';
      throw new Error(
        `the database is ${found === 'sandbox' ? 'a sandbox' : 'live'}: ${right}, or use another database`,
      );
    }
    this.#isKnown = true;
  }

  async #write(kind: string): Promise<string | undefined> {
    await this.unitOfWork.statement((manager) => manager.query('INSERT IGNORE INTO deployment VALUES (1, ?)', [kind]));
    return this.#read();
  }

  async #read(): Promise<string | undefined> {
    const sql = 'SELECT kind FROM deployment WHERE id = 1';
    const [row] = await this.unitOfWork.statement((manager) => manager.query<{ kind: string }[]>(sql));
    return row?.kind;
  }
}
