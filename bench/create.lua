-- POSTs {"id", "name"} to the URL, each time with another random id of the same length, and counts the answers that
-- are not 200: a refused create is quick, so that a figure with refusals in it would be worth nothing.
--
-- Usage: wrk -s create.lua URL -- SEED    (the same seed makes the same ids)

local placeholder = string.rep("0", 32)
local threads = {}

function setup(thread)
  thread:set("thread_number", #threads)
  threads[#threads + 1] = thread
end

-- Globals, because `done` runs outside the threads and reads theirs by name.
unexpected_count = 0
unexpected_first = ""

local before_id, after_id

function init(arguments)
  math.randomseed(tonumber(arguments[1]) * 1000 + thread_number)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = '{"id":"' .. placeholder .. '","name":"An item of the create benchmark"}'
  -- Formatted once and cut where the id goes: the load shares the cores with the server and must cost little.
  local request_text = wrk.format()
  local first, last = string.find(request_text, placeholder, 1, true)
  before_id = string.sub(request_text, 1, first - 1)
  after_id = string.sub(request_text, last + 1)
end

local function random_word()
  return math.random(0, 0xffffffff)
end

function request()
  local id = string.format("%08x%08x%08x%08x", random_word(), random_word(), random_word(), random_word())
  return before_id .. id .. after_id
end

function response(status, headers, body)
  if status ~= 200 then
    unexpected_count = unexpected_count + 1
    if unexpected_first == "" then
      unexpected_first = status .. " " .. string.gsub(body, "%s+", " ")
    end
  end
end

function done()
  local count, first = 0, ""
  for _, thread in ipairs(threads) do
    count = count + thread:get("unexpected_count")
    if first == "" then
      first = thread:get("unexpected_first")
    end
  end
  if count > 0 then
    print("Answers other than 200: " .. count .. ", the first " .. first)
  end
end
