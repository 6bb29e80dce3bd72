import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Recorder } from '../common/domain-event.js';
import { Config } from '../config/config.js';
import { Batch } from './batch.js';
import { UnitOfWork } from './unit-of-work.js';

/** Creates batches, one per kind of statement. */
@Injectable()
export class Batches {
  /** Called for each statement with its kind and its number of keys. */
  onSend: (kind: string, keys: number) => void = () => undefined;

  constructor(
    private readonly config: Config,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /**
   * Creates the batch of a kind of statement. It must not be used inside a transaction.
   *
   * @param kind names it in the metrics.
   * @param send executes the statement for one or more keys, and returns a value for each key, in their order.
   * @param sizeOf how much of a batch a key takes; see `Batch`.
   */
  create<Key, Value>(
    kind: string,
    send: (manager: EntityManager, keys: readonly Key[], record: Recorder) => Promise<Value[]>,
    sizeOf: (key: Key) => number = () => 1,
  ): Batch<Key, Value> {
    const count = (keys: readonly Key[]): Promise<Value[]> => {
      this.onSend(kind, keys.length);
      return this.unitOfWork.statement((manager, record) => send(manager, keys, record), keys.length === 1);
    };
    return new Batch(count, this.config.BATCH ? sizeOf : undefined);
  }
}
