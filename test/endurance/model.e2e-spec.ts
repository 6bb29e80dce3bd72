import { describeModel } from '../support/model/property.js';

describeModel({ sequences: 80, seconds: 150 });
