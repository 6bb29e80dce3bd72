import { Body, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { type Response } from 'express';
import { Reads } from '../platform/database/reads.js';
import { Heavy, LocksRows } from '../platform/http/admission.js';
import { answer, type AppRequest, markCreated } from '../platform/http/app-request.js';
import { performEach } from '../platform/http/batch.js';
import { CurrentCaller, IdParam, MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ListFile } from '../platform/http/response.interceptor.js';
import { readDto } from '../platform/http/validation.pipe.js';
import { VoidDto } from '../platform/http/void.dto.js';
import { ApiCreated, ApiProblems, ApiReplays } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import {
  CreateGrantDto,
  CreateGrantsDto,
  GRANT_COLUMNS,
  GrantDto,
  GrantPageDto,
  GrantResultsDto,
  MadeQueryDto,
  readGrant,
  refuseSameExternalIds,
  toGrantDto,
} from './grant.dto.js';
import { GRANTS } from './grants.list.js';
import { GrantsService } from './grants.service.js';

@MerchantController('grants', 'grants')
export class GrantsController {
  constructor(
    private readonly grants: GrantsService,
    private readonly reads: Reads,
  ) {}

  /**
   * Grant cashback
   *
   * @remarks Grants cashback to a customer without an order. It repays a debt first. `external_id` is the idempotency
   * key: the same content again returns 201 with the current grant and `Idempotency-Replayed: true`. Different content
   * returns 409. An API user grants at most the policy's `grant_maximum` at once.
   */
  @Post()
  @Requires('grants')
  @LocksRows()
  @ApiCreated(GrantDto, 'The grant in its current state')
  @ApiProblems.create('validation_failed', 'grant_exceeds_maximum')
  async createGrant(
    @CurrentCaller() { merchantId, apiUserId: by }: Caller,
    @Body() body: CreateGrantDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<GrantDto> {
    const { credit, replayed } = await this.grants.grant(merchantId, { ...readGrant(body), by });
    markCreated(response, `/grants/${credit.id}`, replayed);
    return toGrantDto(await this.grants.get(merchantId, credit.id));
  }

  /**
   * Grant cashback to many
   *
   * @remarks Makes 1 to 100 grants, each on its own and in any order, as `POST /grants` would. The response is 200, and
   * has what came of each in the place of the request: the grant, or its problem. A repeated request returns the grants
   * that exist, and makes those that are missing: repeat it while a problem is `retryable`. Two grants with the same
   * `external_id` return 400, and none is made.
   */
  @Post('batch')
  @Requires('grants')
  @Heavy()
  @HttpCode(200)
  @ApiProblems.query()
  async createGrants(
    @CurrentCaller() { merchantId, apiUserId: by }: Caller,
    @Body() { data }: CreateGrantsDto,
    @Req() request: AppRequest,
  ): Promise<GrantResultsDto> {
    refuseSameExternalIds(data);
    const outcomes = await performEach(request, data, async (element) => {
      const content = { ...readGrant(readDto(CreateGrantDto, element)), by };
      const { credit, replayed } = await this.grants.grant(merchantId, content);
      return { id: credit.id, status: replayed ? 200 : 201 };
    });
    const ids = outcomes.flatMap((outcome) => ('value' in outcome ? [outcome.value.id] : []));
    const grants = new Map((await this.grants.getAll(merchantId, ids)).map((grant) => [grant.credit.id, grant]));
    return {
      data: outcomes.map((outcome) =>
        'value' in outcome
          ? { status: outcome.value.status, grant: toGrantDto(grants.get(outcome.value.id)!), problem: null }
          : { status: Number(outcome.problem.status), grant: null, problem: outcome.problem },
      ),
    };
  }

  /**
   * List grants
   *
   * @remarks Returns the merchant's grants in their current state, newest first, one page at a time. Continue with
   * `next_cursor` until it is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ListFile('grants', GrantPageDto, GRANT_COLUMNS)
  listGrants(@MerchantId() merchantId: string, @Query() query: MadeQueryDto): Promise<GrantPageDto> {
    return this.reads.page(merchantId, query, GRANTS);
  }

  /**
   * Read a grant
   *
   * @remarks Returns the grant in its current state. A grant of another merchant returns 404.
   */
  @Get(':id')
  @Requires()
  @ApiProblems.read()
  async getGrant(@MerchantId() merchantId: string, @IdParam('The grant') id: string): Promise<GrantDto> {
    return toGrantDto(await this.grants.get(merchantId, id));
  }

  /**
   * Void a grant
   *
   * @remarks Voids the unspent, unheld amount of the grant. `voided` is the sum of all voids. Redeemed amounts stay
   * redeemed, and amounts held for orders stay held: if they are released, void the grant again to void them too.
   * Otherwise a repeated request returns the same grant.
   */
  @Post(':id/void')
  @Requires('grants')
  @LocksRows()
  @ApiReplays()
  @HttpCode(200)
  @ApiBody({ type: VoidDto, required: false })
  @ApiProblems.read('validation_failed')
  async voidGrant(
    @CurrentCaller() { merchantId, apiUserId }: Caller,
    @IdParam('The grant') creditId: string,
    @Body() { reason }: VoidDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<GrantDto> {
    const { replayed = false, ...voided } = await this.grants.void(merchantId, { creditId }, apiUserId, reason);
    return answer(response, { dto: toGrantDto(voided), replayed });
  }
}
