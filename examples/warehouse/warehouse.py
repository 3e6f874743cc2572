"""Loads your calls, projects and entities into DuckDB, and draws a chart. Run it as often as you like.

CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 python warehouse.py calls.duckdb
"""

import os
import sys

import dlt
import duckdb

from call_research.dlt import call_research_source

path = sys.argv[1]
pipeline = dlt.pipeline("call_research", destination=dlt.destinations.duckdb(path), dataset_name="call_research")
pipeline.run(call_research_source(os.environ["CRS_BASE_URL"], os.environ["CRS_API_KEY"]))

with duckdb.connect(path) as db:
    rows = db.sql("""
        select coalesce(projects.name, '-') as project, sum(duration_minutes) as minutes, bar(minutes, 0, max(minutes) over (), 30)
        from call_research.calls left join call_research.projects using (project_id)
        group by project having minutes > 0 order by minutes desc""")
    for project, minutes, bar in rows.fetchall():
        print(f"{bar:30} {minutes:5.0f} minutes  {project}")
