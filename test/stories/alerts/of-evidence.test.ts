import { tellStories } from '../../support/alert-stories/alert-story.ts';
import { evidenceStories } from '../../support/alert-stories/of-evidence.ts';

tellStories(evidenceStories);
