import { Body, Get, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { MerchantController } from '../auth/merchant-controller.js';
import { ApiCreated, ApiProblems } from '../openapi/decorators.js';
import { MerchantId } from '../http/caller.js';
import { markCreated } from '../http/created.js';
import { IdParam } from '../http/id-param.js';
import { Heavy } from '../http/admission.js';
import { CreateGrantDto, GrantDto } from './dto/grant.dto.js';
import { MerchantGrantsService } from './merchant-grants.service.js';

@MerchantController('grants', 'wallets')
export class GrantsController {
  constructor(private readonly grants: MerchantGrantsService) {}

  /**
   * Grant cashback
   *
   * @remarks Grants cashback to a customer without an order. It pays a debt first. `external_id` is the idempotency
   * key: the same body again returns 201 with the grant in its current state and `Idempotency-Replayed: true`, a
   * different body 409.
   */
  @Post()
  @Heavy()
  @ApiCreated(GrantDto, 'The grant in its current state')
  @ApiProblems.create('validation_failed')
  async createGrant(
    @MerchantId() merchantId: string,
    @Body() body: CreateGrantDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<GrantDto> {
    const { grant, replayed } = await this.grants.create(merchantId, body);
    markCreated(response, `/grants/${grant.id}`, replayed);
    return grant;
  }

  /**
   * Read a grant
   *
   * @remarks Returns the grant in its current state. A grant of another merchant is 404.
   */
  @Get(':id')
  @ApiProblems.read()
  getGrant(@MerchantId() merchantId: string, @IdParam('The grant') id: string): Promise<GrantDto> {
    return this.grants.get(merchantId, id);
  }

  /**
   * Void a grant
   *
   * @remarks Takes back what is left of the grant; `voided` says how much. What was redeemed stays redeemed. What an
   * order holds stays held: if it is released later, voiding the grant again takes it back too. Otherwise a repeated
   * request changes nothing and returns the same grant.
   */
  @Post(':id/void')
  @Heavy()
  @HttpCode(200)
  @ApiProblems.read()
  voidGrant(@MerchantId() merchantId: string, @IdParam('The grant') id: string): Promise<GrantDto> {
    return this.grants.void(merchantId, id);
  }
}
