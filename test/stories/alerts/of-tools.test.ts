import { tellStories } from '../../support/alert-stories/alert-story.ts';
import { toolStories } from '../../support/alert-stories/of-tools.ts';

tellStories(toolStories);
