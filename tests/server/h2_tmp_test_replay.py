import io,json,os,random,zipfile,pytest,yaml,pathlib
from django.test import Client
G=pathlib.Path('/work/shared/reference/golden')
U=yaml.safe_load((G/'packages/uploads.yaml').read_text())
def zipped(files, stored=False):
    b=io.BytesIO()
    with zipfile.ZipFile(b,'w',zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as z:
        for k,v in files.items(): z.writestr(k,v)
    return b.getvalue()
def folder(n):
    p=G/'packages'/n
    return zipped({str(f.relative_to(p)):f.read_bytes() for f in sorted(p.rglob('*')) if f.is_file()})
def simple(e):
    fqn=e['fqn']; name=e.get('name',fqn); last=fqn.rsplit('.',1)
    m=f"Format: MuranoPL/1.0\nType: Application\nFullName: {fqn}\nName: {name}\nDescription: d {fqn}\nAuthor: A\nTags: [t]\nClasses:\n  {fqn}: c.yaml\n"
    if 'version' in e: m+=f"Version: {e['version']}\n"
    c=e.get('class_text') or f"""Namespaces: {{'=': '{last[0]}', std: io.murano}}
Name: {last[1]}
Extends: std:Application
Properties:
  name: {{Contract: $.string()}}
Methods:
  deploy:
    Body:
    - Return: null
"""
    return zipped({'manifest.yaml':m,'Classes/c.yaml':c})
def archive(e):
    if 'package' in e:
        if e['package'].startswith('com.'): return folder(e['package'])
        from vetro.library import core_packages
        c=core_packages(); return c[1].blob if 'applications' in e['package'] else c[0].blob
    if 'simple' in e: return simple(e['simple'])
    if 'raw' in e: return os.urandom(e['raw']['random']) if isinstance(e['raw'],dict) else e['raw'].encode()
    f=e['files']; 
    if any(isinstance(v,str) and 'random' in v or isinstance(v,(int,dict)) for v in f.values()):
        n=5138022 if n_big[0]==0 else 5347737; n_big[0]+=1; f={k:v for k,v in f.items() if v is not None}; f['Resources/b.bin']=os.urandom(n); return zipped(f,True)
    return zipped(f)
n_big=[0]
def multipart(parts):
    b=b''
    for name,fn,data in parts:
        b+=b'--XX\r\nContent-Disposition: form-data; name="'+name.encode()+b'"'+(b'; filename="'+fn.encode()+b'"' if fn else b'')+b'\r\n\r\n'+data+b'\r\n'
    return b+b'--XX--\r\n'
def shape(a,b,path=''):
    out=[]
    if type(a)!=type(b): return [f'{path}: {type(a).__name__} recorded, {type(b).__name__} given']
    if isinstance(a,dict):
        for k in a:
            if k not in b: out.append(f'{path}.{k} missing')
            else: out+=shape(a[k],b[k],f'{path}.{k}')
        out+= [f'{path}.{k} extra' for k in b if k not in a and k!='version']
    if isinstance(a,list) and a and b and isinstance(a[0],dict): out+=shape(a[0],b[0],path+'[0]')
    return out
def test_replay(people):
    demo=people('demo','demo'); demo2=people('demo2','demo'); other=people('other','other'); admin=people('admin','admin','admin')
    from vetro.server.catalog import embedded; embedded.ensure()
    actors={'demo':demo,'demo2':demo2,'other':other,'admin':admin}
    ids={}
    import re
    bad=0
    def sub(t): return re.sub(r'id-\d{4}',lambda m: ids.get(m.group(),m.group()),t)
    def bind(rec,got):
        if isinstance(rec,dict) and isinstance(got,dict):
            for k in rec: 
                if k in got: bind(rec[k],got[k])
        elif isinstance(rec,list) and isinstance(got,list):
            for x,y in zip(rec,got): bind(x,y)
        elif isinstance(rec,str) and re.fullmatch(r'id-\d{4}',rec) and isinstance(got,str): ids.setdefault(rec,got)
    files=sorted(G.glob('0*.json'))
    files=[f for f in files if f.name[:2] in ('00','02','03','04','05','06','07')]+[G/'08-packages-upload-parts.json']
    for f in files:
        d=json.loads(f.read_text()); ups={}
        n8=0
        for r in U.get(d['scenario'],[]):
            if 'index' in r: ups[r['index']]=r
        for i,e in enumerate(d['exchanges']):
            q=e['request']; a=e['actor']
            if a=='<cli-user>': a='admin' if i<4 else 'demo'
            h={k.replace('-','_'):v for k,v in q.get('headers',{}).items()}
            ct=h.pop('content_type',''); h.setdefault('accept','*/*')
            hs={'HTTP_'+k.upper():v for k,v in h.items()}
            if a in actors: hs['HTTP_X_AUTH_TOKEN']=actors[a].token
            body=b''; b=q.get('body')
            rec=ups.get(i)
            if f.name.startswith('08') and q['method']=='POST':
                if '/packages' in q['path'] and b and 'multipart' in b:
                    fqn={'0':0}
                    note=e.get('note') or ''
                    rs=U['08-packages-upload-parts']
                    order=[0,1,2,2,2,3,3,4,5]
                    r=rs[order[n8]]; n8+=1
                    parts=[('file','p.zip',archive(r))]+[('JsonString',None,p['text'].encode()) for p in b['multipart'] if 'text' in p]
                    body=multipart(parts); ct='multipart/form-data; boundary=XX'
            elif rec is not None:
                if 'parts' in rec: parts=[(p['name'],p.get('filename'),simple(p['simple']) if 'simple' in p else p['text'].encode()) for p in rec['parts']]
                else:
                    parts=[] if rec.get('no_file') else [(rec.get('part','file'),'p.zip',archive(rec))]
                    if 'meta' in rec: m=rec['meta']; parts.append(('JsonString',None,(m if isinstance(m,str) else json.dumps(m)).encode()))
                body=multipart(parts); ct='multipart/form-data; boundary=XX'
            elif b and 'json' in b: body=sub(json.dumps(b['json'])).encode()
            elif b and 'text' in b: body=b['text'].encode()
            path=sub(q['path'])+('?'+sub(q['query']) if 'query' in q else '')
            c=Client()
            r=c.generic(q['method'],path,body,content_type=ct,**hs)
            s=e['response']
            probs=[]
            if r.status_code!=s['status']: probs.append(f"status {s['status']} recorded, {r.status_code} given {r.content[-250:]!r}")
            elif s.get('headers',{}).get('content-type','').lower()!=r.headers.get('content-type','').lower(): probs.append(f"type {s['headers']} {r.headers.get('content-type')}")
            sb=s.get('body') or {}
            if 'json' in sb and r.status_code==200:
                j=r.json(); bind(sb['json'],j); probs+=shape(sb['json'],j)
                if 'packages' in sb['json'] and f.name[:2] in('04','03','06'):
                    x=[p['fully_qualified_name'] for p in sb['json']['packages']]; y=[p['fully_qualified_name'] for p in j['packages']]
                    if x!=y: probs.append(f'{x} recorded, {y} given')
                if ('next_marker' in sb['json'])!=('next_marker' in j): probs.append('marker')
                for k in ('name','description','tags','categories','enabled','is_public','type','supplier'):
                    if k in sb['json'] and sb['json'][k]!=j.get(k): probs.append(f"{k}: {sb['json'][k]!r} != {j.get(k)!r}")
            if not sb and r.content and s['status']==200: probs.append('body given')
            for p in probs: bad+=1; print(f.name,i,a,e.get('note'),q['method'],path[:80],':',p)
    print('bad',bad)
