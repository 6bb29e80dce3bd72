import { METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Injectable } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator } from '@nestjs/core';
import { type ParamsFactory } from '@nestjs/core/helpers/external-context-creator.js';
import { RouteParamsFactory } from '@nestjs/core/router/route-params-factory.js';
import { UserNames } from '../auth/user-names.service.js';
import { CSV, type CsvFile } from '../platform/http/response.interceptor.js';
import { OPERATOR, PERMISSIONS } from '../platform/values/caller.js';

/** What an operation is called with, as texts, except for the body. */
export interface OperatorRequest {
  merchantId?: string | undefined;
  params: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: object;
}

/** What an operation returned, and whether it changed nothing because it was so before. */
export interface Answer {
  result: unknown;
  replayed: boolean;
  /** Of the list as CSV, if it has them. */
  columns: readonly string[] | undefined;
}

const ROUTE_PARAMS = new RouteParamsFactory();

/** Nest hands over the arguments of a call that is not HTTP as a list. */
const PARAMS: ParamsFactory = {
  exchangeKeyForValue(type: RouteParamtypes, data: string, [req, res]: [object, object]) {
    return ROUTE_PARAMS.exchangeKeyForValue<object, object, unknown>(type, data, { req, res, next: () => undefined });
  },
};

/** No operation of a command has a deadline. This is the longest time that a timer takes. */
const NO_DEADLINE_MS = 2 ** 31 - 1;

type Handler = (request: object, response: object) => Promise<unknown>;

/**
 * Calls operations of the API in this process, as the operator: with all permissions, and without the guards, the
 * admission and the deadline of HTTP. Bodies and queries are validated as those of everybody.
 */
@Injectable()
export class OperatorClient {
  constructor(
    private readonly contexts: ExternalContextCreator,
    private readonly controllers: DiscoveryService,
    private readonly names: UserNames,
  ) {}

  /**
   * @param operationId of the OpenAPI document, which is the name of the method of its controller.
   * @throws Problem as the operation does.
   */
  async call(operationId: string, { merchantId, ...given }: OperatorRequest): Promise<Answer> {
    const { handle, file } = this.#find(operationId);
    const sent = new Map<string, string>();
    const user = { merchantId, apiUserId: OPERATOR, sessionId: '' };
    const request = {
      ...given,
      ...{ id: OPERATOR, path: '', method: '' },
      ...(merchantId !== undefined && { user, permissions: PERMISSIONS }),
      answerBy: performance.now() + NO_DEADLINE_MS,
    };
    const response = { headersSent: false, setHeader: (name: string, value: string) => sent.set(name, value) };
    const result = await this.names.fillIn(await handle(request, response));
    return { result, replayed: sent.has('Idempotency-Replayed'), columns: file?.isReport ? undefined : file?.columns };
  }

  #find(operationId: string): { handle: Handler; file: CsvFile | undefined } {
    for (const { instance } of this.controllers.getControllers()) {
      const controller = instance as Record<string, (...args: unknown[]) => unknown>;
      const method = controller[operationId];
      if (method === undefined || !Reflect.hasMetadata(METHOD_METADATA, method)) continue;
      const options = { guards: false, interceptors: false, filters: false };
      const handle = this.contexts.create(
        ...([controller, method, operationId, ROUTE_ARGS_METADATA, PARAMS, undefined, undefined, options] as const),
      ) as Handler;
      return { handle, file: Reflect.getMetadata(CSV, method) as CsvFile | undefined };
    }
    throw new Error(`no controller has the operation ${operationId}`);
  }
}
